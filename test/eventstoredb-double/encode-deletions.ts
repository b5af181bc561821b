import streams from '@eventstore/db-client/generated/streams_pb.js'

export const deleteAnswer = (position: bigint): streams.DeleteResp =>
  new streams.DeleteResp().setPosition(
    new streams.DeleteResp.Position().setCommitPosition(String(position)).setPreparePosition(String(position)),
  )

export const tombstoneAnswer = (position: bigint): streams.TombstoneResp =>
  new streams.TombstoneResp().setPosition(
    new streams.TombstoneResp.Position().setCommitPosition(String(position)).setPreparePosition(String(position)),
  )
