import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerWritableStream } from '@grpc/grpc-js'
import type { ActiveFaults } from './faults.js'
import type { CallStatus } from './statuses.js'

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>

export type Pour = {
  /** Goes on, if it had come to a wait. */
  readonly go: () => void
  /** Whether the reader takes no more for now. */
  readonly isBlocked: () => boolean
  /** Ends the call once what was written is taken; without a status it ends well. */
  readonly end: (status?: CallStatus) => void
}

/**
 * Gives the reader of a call its messages at the pace at which it takes them, so that they are made only then. Undefined
 * among them is a wait: for `go`.
 */
export const pour = (
  call: ReadCall,
  faults: ActiveFaults,
  messages: Iterator<streams.ReadResp | undefined, void>,
  onWritten: (message: streams.ReadResp, end: Pour['end']) => void = () => undefined,
): Pour => {
  let isBlocked = false
  let isHeld = false
  let isOver = false

  const end: Pour['end'] = (status) => {
    if (isOver) return
    isOver = true
    if (status === undefined) call.end()
    else call.emit('error', status)
  }
  const go = (): void => {
    while (!isBlocked && !isHeld && !isOver) {
      if (faults.isSilent()) {
        isHeld = true
        faults.whenSpeaking(() => {
          isHeld = false
          go()
        })
        return
      }
      const next = messages.next()
      if (next.done === true) {
        end()
        return
      }
      if (next.value === undefined) return
      if (!call.write(next.value)) {
        isBlocked = true
        call.once('drain', () => {
          isBlocked = false
          go()
        })
      }
      onWritten(next.value, end)
    }
  }
  call.once('cancelled', () => {
    isOver = true
  })
  go()
  return { go, isBlocked: () => isBlocked, end }
}
