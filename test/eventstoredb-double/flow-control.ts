import type streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ServerWritableStream } from '@grpc/grpc-js'
import type { ActiveFaults } from './faults.js'
import type { CallStatus } from './statuses.js'

export type ReadCall = ServerWritableStream<streams.ReadReq, streams.ReadResp>

export type MessageStream = {
  /** Goes on, if it was waiting for messages. */
  readonly resume: () => void
  /** Whether the reader takes no more for now. */
  readonly isBlocked: () => boolean
  /** Ends the call once what was written is taken; without a status it ends well. */
  readonly end: (status?: CallStatus) => void
}

/**
 * Writes messages to the reader of a call at the pace at which it takes them; they are made only then. Undefined among
 * them stands for none at the moment: the stream waits for `resume`.
 */
export const streamMessages = (
  call: ReadCall,
  faults: ActiveFaults,
  messages: Iterator<streams.ReadResp | undefined, void>,
  onWritten: (message: streams.ReadResp, end: MessageStream['end']) => void = () => undefined,
): MessageStream => {
  let isBlocked = false
  let isSilent = false
  let isOver = false

  const end: MessageStream['end'] = (status) => {
    if (isOver) return
    isOver = true
    if (status === undefined) call.end()
    else call.emit('error', status)
  }
  const resume = (): void => {
    while (!isBlocked && !isSilent && !isOver) {
      if (faults.isSilent()) {
        isSilent = true
        faults.whenSpeaking(() => {
          isSilent = false
          resume()
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
          resume()
        })
      }
      onWritten(next.value, end)
    }
  }
  call.once('cancelled', () => {
    isOver = true
  })
  resume()
  return { resume, isBlocked: () => isBlocked, end }
}
