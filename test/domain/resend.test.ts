import test from 'ava'
import { resend, type ResendCommand, type ResendEvent } from '../../domain/resend.js'
import { accountId, at, resendId, webhookId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const start: ResendCommand = {
  type: 'StartResend',
  resendId: resendId(),
  accountId: accountId(),
  webhookId: webhookId(),
  from: at(1),
  to: at(2),
}
const started: ResendEvent = {
  type: 'ResendStarted',
  data: { resend_id: resendId(), account_id: accountId(), webhook_id: webhookId(), from: at(1), to: at(2) },
}
const cancel = (n = 1): ResendCommand => ({ type: 'CancelResend', webhookId: webhookId(n) })
const cancelled: ResendEvent = { type: 'ResendCancelled', data: {} }
const complete: ResendCommand = { type: 'CompleteResend' }
const completed: ResendEvent = { type: 'ResendCompleted', data: {} }

test('a resend is started, and then cancelled or completed, once', (t) => {
  given(t, resend).when(start).then(started)
  given(t, resend, started).when(start).isAlreadySo()
  given(t, resend, started).when(cancel()).then(cancelled)
  given(t, resend, started).when(complete).then(completed)
  for (const end of [cancelled, completed]) {
    given(t, resend, started, end).when(cancel()).isAlreadySo()
    given(t, resend, started, end).when(complete).isAlreadySo()
  }
})

test('an unknown resend is not found, nor is that of another webhook', (t) => {
  given(t, resend).when(cancel()).refuses('resend-not-found')
  given(t, resend).when(complete).refuses('resend-not-found')
  given(t, resend, started).when(cancel(2)).refuses('resend-not-found')
})
