import type { handleUnaryCall, sendUnaryData } from '@grpc/grpc-js'
import type { ActiveFaults } from './faults.js'

/** A call with one question and one answer, which nobody but `refuse('all')` and silence keeps from it. */
export const unary =
  <Question, Answer>(
    faults: ActiveFaults,
    answer: (question: Question, callback: sendUnaryData<Answer>) => void,
  ): handleUnaryCall<Question, Answer> =>
  (call, callback) => {
    const refusal = faults.refusalOf('other')
    if (refusal !== undefined) {
      callback(refusal)
      return
    }
    faults.whenSpeaking(() => {
      if (!call.cancelled) answer(call.request, callback)
    })
  }
