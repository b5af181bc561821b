import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { LeadId, SourceId, SubmissionKeyId } from './ids.js'
import { E, type Either } from './prelude.js'

/** An `Idempotency-Key` of a source stands for one lead for ever: that of the first submission that came with it. */
export const SubmissionKeyEvent = eventOf(
  'SubmissionKeyClaimed',
  t.type({ submission_key_id: SubmissionKeyId, source_id: SourceId, lead_id: LeadId }),
)
export type SubmissionKeyEvent = t.TypeOf<typeof SubmissionKeyEvent>

type SubmissionKeyState = { readonly kind: 'free' } | { readonly kind: 'claimed'; readonly leadId: LeadId }

export type SubmissionKeyCommand = {
  readonly type: 'ClaimSubmissionKey'
  readonly submissionKeyId: SubmissionKeyId
  readonly sourceId: SourceId
  readonly leadId: LeadId
}

const evolve = (_state: SubmissionKeyState, event: SubmissionKeyEvent): SubmissionKeyState => ({
  kind: 'claimed',
  leadId: event.data.lead_id,
})

const decide = (
  command: SubmissionKeyCommand,
  state: SubmissionKeyState,
): Either<never, ReadonlyArray<SubmissionKeyEvent>> => {
  if (state.kind === 'claimed') return E.right([])
  const { submissionKeyId, sourceId, leadId } = command
  const data = { submission_key_id: submissionKeyId, source_id: sourceId, lead_id: leadId }
  return E.right([{ type: 'SubmissionKeyClaimed', data }])
}

export const submissionKey: Decider<SubmissionKeyState, SubmissionKeyCommand, SubmissionKeyEvent, never> = {
  category: 'submission_key',
  initial: { kind: 'free' },
  evolve,
  decide,
}
