import test from 'ava'
import { E } from '../../../domain/prelude.js'
import { closingCommandOf } from '../../../projections/erasure/contact-closing.js'
import { logOf } from '../../kit/domain/log.js'
import {
  accountId,
  contactCreated,
  contactId,
  details,
  engagementId,
  erasureId,
  leadId,
} from '../../kit/domain/samples.js'

const stream = `contact-${contactId()}`
const number = { contact_id: contactId(), account_id: accountId() }
const of = { engagement_id: engagementId() }

test('whatever stands between them, an erasure tells of every opt-out and opt-in of a contact and its number', async (t) => {
  const changed = { type: 'ContactDetailsChanged', data: { lead_id: leadId(), details: details() } } as const
  const history = logOf(
    [stream, { type: 'NumberOptedOut', data: number }],
    [stream, { type: 'NumberOptedIn', data: number }],
    [stream, contactCreated],
    ...Array.from({ length: 1_200 }, () => [stream, changed] as const),
    [stream, { type: 'ContactOptedOut', data: of }],
    [stream, { type: 'ContactOptedIn', data: of }],
  )
  const read = (_stream: string, from = 0, count = 1) =>
    Promise.resolve(E.right({ events: history.slice(from, from + count), revision: history.length - 1 }))
  const optHistory = [
    { meaning: 'opted_out', at: history[0]?.time },
    { meaning: 'opted_in', at: history[1]?.time },
    { meaning: 'opted_out', at: history.at(-2)?.time },
    { meaning: 'opted_in', at: history.at(-1)?.time },
  ]
  const command = { type: 'EraseContact', contactId: contactId(), erasureId: erasureId(), optHistory }
  t.deepEqual(await closingCommandOf({ read }, contactId(), erasureId()), E.right(command) as never)
})

test('a contact whose stream can not be read is not erased', async (t) => {
  const unavailable = { kind: 'unavailable', reason: 'the disk is full' } as const
  const read = () => Promise.resolve(E.left(unavailable))
  t.deepEqual(await closingCommandOf({ read }, contactId(), erasureId()), E.left(unavailable))
})

test('an event that can not be decoded keeps nobody from being erased', async (t) => {
  const page = logOf(
    [stream, { type: 'NumberOptedOut', data: number }],
    ...Array.from({ length: 499 }, () => [stream, contactCreated] as const),
  )
  const corrupt = { kind: 'corrupt', reason: 'an event holds no JSON' } as const
  const read = (_stream: string, from = 0) =>
    Promise.resolve(from === 0 ? E.right({ events: page, revision: 500 }) : E.left(corrupt))
  const optHistory = [{ meaning: 'opted_out', at: page[0]?.time }]
  const command = { type: 'EraseContact', contactId: contactId(), erasureId: erasureId(), optHistory }
  t.deepEqual(await closingCommandOf({ read }, contactId(), erasureId()), E.right(command) as never)
})
