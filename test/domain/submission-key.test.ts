import test from 'ava'
import { fold } from '../../domain/decider.js'
import { submissionKey, type SubmissionKeyEvent } from '../../domain/submission-key.js'
import { leadId, sourceId, submissionKeyId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const claim = (n: number) =>
  ({
    type: 'ClaimSubmissionKey',
    submissionKeyId: submissionKeyId(),
    sourceId: sourceId(),
    leadId: leadId(n),
  }) as const

const claimed: SubmissionKeyEvent = {
  type: 'SubmissionKeyClaimed',
  data: { submission_key_id: submissionKeyId(), source_id: sourceId(), lead_id: leadId(1) },
}

test('an idempotency key stands for the lead of the first submission that came with it', (t) => {
  given(t, submissionKey).when(claim(1)).then(claimed)
  given(t, submissionKey, claimed).when(claim(2)).isAlreadySo()
  t.deepEqual(fold(submissionKey, submissionKey.initial, [claimed]), { kind: 'claimed', leadId: leadId(1) })
})
