import test from 'ava'
import { account } from '../../domain/account.js'
import { contact } from '../../domain/contact.js'
import { conversion } from '../../domain/conversion.js'
import { conversionRecord } from '../../domain/conversion-record.js'
import { delivery } from '../../domain/delivery.js'
import { engagement } from '../../domain/engagement.js'
import { erasure } from '../../domain/erasure.js'
import { categories, type DomainEvent } from '../../domain/events.js'
import { lead } from '../../domain/lead.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { message } from '../../domain/message.js'
import { notice } from '../../domain/notice.js'
import { parkedEvent } from '../../domain/parked-event.js'
import { personalStateFields, secretStateFields } from '../../domain/personal-data.js'
import { playbook } from '../../domain/playbook.js'
import { remark } from '../../domain/remark.js'
import { resend } from '../../domain/resend.js'
import { senderOptOut } from '../../domain/sender-opt-out.js'
import { sendingHold } from '../../domain/sending-hold.js'
import { categoryOf } from '../../domain/stream-name.js'
import { submissionKey } from '../../domain/submission-key.js'
import { webhook } from '../../domain/webhook.js'
import { eventfulHistory } from '../kit/domain/histories.js'

const deciders = {
  account,
  contact,
  conversion,
  conversionRecord,
  delivery,
  engagement,
  erasure,
  lead,
  marketingSource,
  message,
  notice,
  parkedEvent,
  playbook,
  remark,
  resend,
  senderOptOut,
  sendingHold,
  submissionKey,
  webhook,
}

type Leaf = string | number | boolean | null | undefined

/** What lists and maps hold, and everything else but plain values. */
type Held<T> = T extends Leaf
  ? never
  : T extends ReadonlyMap<unknown, infer Value>
    ? Held<Value>
    : T extends ReadonlySet<infer One> | ReadonlyArray<infer One>
      ? Held<One>
      : T

type NameIn<T> = T extends unknown ? keyof T : never
type ValueAt<T, Name> = T extends unknown ? (Name extends keyof T ? T[Name] : never) : never

/** Every field of `T`, whichever of its kinds has it, and what these hold. What is hidden is not looked into. */
type Fields<T> = [Held<T>] extends [never]
  ? 'shown'
  : { readonly [Name in NameIn<Held<T>>]: 'personal' | 'secret' | Fields<ValueAt<Held<T>, Name>> }

const personal = 'personal'
const secret = 'secret'
const shown = <Name extends string>(...names: ReadonlyArray<Name>) =>
  Object.fromEntries(names.map((name) => [name, 'shown'])) as { readonly [name in Name]: 'shown' }

/** Each state with all of its fields: a state with a field that is missing here does not compile. */
const fields: { readonly [name in keyof typeof deciders]: Fields<(typeof deciders)[name]['initial']> } = {
  account: {
    ...shown('kind', 'accountId', 'title', 'enabled', 'providerAnswersKeywords'),
    ...shown('helpText', 'segmentsPerMonth', 'hasErasures', 'consentHosts'),
    sender: shown('from', 'messages_per_second'),
    sealedSecret: secret,
    apiKeys: { ...shown('limitPerMinute'), secretHash: secret },
    members: { ...shown('role'), email: personal },
  },
  contact: {
    ...shown('kind', 'accountId', 'optedOut', 'hasOptedIn', 'unrememberedUntil', 'lastEngagedAt'),
    ...shown('unconverted', 'records', 'said', 'optedOutAt', 'optedInAt', 'erasureId', 'lateLeads', 'lateMessages'),
    details: personal,
    byAge: personal,
    newest: shown('leadId', 'submittedAt', 'sourceId', 'engagementId'),
    leads: shown('leadId', 'submittedAt'),
  },
  conversion: shown('kind', 'accountId', 'title', 'value', 'label'),
  conversionRecord: {
    ...shown('kind'),
    facts: {
      ...shown('record_id', 'account_id', 'conversion_id', 'title', 'label', 'contact_id'),
      ...shown('converted_at', 'value', 'engagement_id', 'lead_id', 'source_id', 'ends'),
    },
  },
  delivery: {
    ...shown('kind', 'events', 'attempts', 'attemptsOfSchedule', 'since', 'dueAt', 'resends'),
    facts: {
      ...shown('delivery_id', 'account_id', 'webhook_id', 'contact_id', 'lead_id'),
      ...shown('engagement_id', 'activity_id', 'label', 'due_at', 'lead_submitted_at'),
      body: personal,
    },
    resend: shown('resendId'),
  },
  engagement: {
    ...shown('kind', 'ended', 'erased', 'lastActivityAt', 'records', 'pausedUntil'),
    ...shown('answerUntil', 'callUntil', 'replies', 'givesUpAt', 'labels'),
    attribution: shown('engagement_id', 'account_id', 'contact_id', 'lead_id', 'source_id', 'playbook_id'),
    reports: shown('label', 'at'),
    followUp: shown('playbookVersion', 'begun', 'attempts', 'messageId', 'nextAt', 'limitedSince'),
    awaitedConsent: shown('failedChecks', 'failingSince', 'nextCheckAt'),
  },
  erasure: {
    ...shown('kind', 'lateLeads', 'lateMessages'),
    facts: shown('erasure_id', 'account_id', 'contact_id', 'by'),
    summary: { ...shown('webhooks_count', 'dropped', 'dropped_count'), webhooks: shown('webhook_id', 'deliveries') },
  },
  lead: {
    ...shown('kind', 'erasureId'),
    ids: shown('lead_id', 'account_id', 'source_id', 'playbook_id', 'contact_id', 'engagement_id'),
  },
  marketingSource: {
    ...shown('kind', 'sourceId', 'accountId', 'title'),
    ...shown('playbookId', 'originatorField', 'suspended', 'limitPerMinute'),
  },
  message: {
    ...shown('kind', 'copies', 'erasedCopies', 'attempts', 'dueAt', 'segments', 'attempt'),
    ...shown('begunAt', 'sender', 'providerId', 'arrived', 'lost', 'unreached'),
    ids: shown('message_id', 'account_id', 'contact_id', 'engagement_id'),
    request: { ...shown('purpose', 'expires_at'), text: personal },
    facts: {
      ...shown('message_id', 'account_id', 'contact_id', 'engagement_id', 'step', 'meaning'),
      ...shown('paused_until', 'gives_up_at', 'answer', 'provider_id', 'said_at', 'opted_out_before', 'report_id'),
    },
    text: personal,
    after: shown('next_step_at', 'gives_up_at'),
    failure: shown('kind', 'reason'),
  },
  notice: {
    ...shown('kind', 'attempts', 'dueAt'),
    facts: {
      ...shown('notice_id', 'account_id', 'member_id', 'due_at', 'webhook_id'),
      ...shown('turned_off_id', 'turned_off_at', 'reason', 'failing_since', 'about'),
      ...shown('since', 'month', 'segments_per_month'),
    },
  },
  parkedEvent: {
    ...shown('kind'),
    facts: {
      ...shown('parked_event_id', 'process_manager', 'event_id', 'event_type'),
      ...shown('event_stream', 'reason', 'event_revision'),
    },
  },
  playbook: {
    ...shown('kind', 'accountId', 'used', 'deleted', 'version'),
    settings: {
      ...shown('title', 'required_fields', 'give_up_after_minutes', 'days'),
      steps: shown('message', 'delay_minutes'),
      quiet_hours: shown('from', 'to'),
      reply_rules: shown('words', 'outcome'),
    },
  },
  remark: shown('erased', 'made', 'reports'),
  resend: {
    ...shown('kind', 'resendId', 'accountId', 'webhookId', 'from', 'to'),
    counts: shown('requested', 'delivered', 'failed'),
  },
  sendingHold: {
    held: shown('since', 'until', 'reason', 'saidBy'),
    released: shown('since', 'at'),
    limit: shown('month', 'segmentsPerMonth'),
  },
  senderOptOut: shown('optedOut', 'optedInBy', 'texts', 'saidAt'),
  submissionKey: shown('kind', 'leadId'),
  webhook: {
    ...shown('kind', 'webhookId', 'accountId', 'version'),
    settings: { ...shown('events', 'format', 'playbook_id'), url: personal, sealed_token: secret },
    signingSecrets: secret,
    turnedOn: shown('catchUp', 'by', 'version'),
  },
}

type AnyDecider = { readonly initial: unknown; readonly evolve: (state: unknown, event: DomainEvent) => unknown }

const byCategory = new Map(
  Object.entries(deciders).map(([name, decider]) => [
    decider.category,
    [name as keyof typeof deciders, decider as unknown as AnyDecider] as const,
  ]),
)

test('every category has a decider here', (t) => {
  t.deepEqual([...byCategory.keys()].sort(), [...categories].sort())
})

type Named = readonly [path: string, classified: string]

/** The fields by their paths. */
const namedIn = (node: object, path = ''): ReadonlyArray<Named> =>
  Object.entries(node).flatMap(([name, held]: readonly [string, string | object]) =>
    typeof held === 'string' ? [[`${path}${name}`, held] as const] : namedIn(held, `${path}${name}.`),
  )

test('each field of a state is hidden as it is classified', (t) => {
  for (const [decider, node] of Object.entries(fields)) {
    for (const [path, classified] of namedIn(node)) {
      const names = path.split('.')
      const isSecret = names.some((name) => secretStateFields.has(name))
      const isPersonal = names.some((name) => personalStateFields.has(name))
      t.is(isSecret ? secret : isPersonal ? personal : 'shown', classified, `${decider}: ${path}`)
    }
  }
})

test('every field by whose name a value is hidden stands in a state', (t) => {
  const hidden = Object.values(fields)
    .flatMap((node) => namedIn(node))
    .flatMap(([path, classified]) => (classified === 'shown' ? [] : [path.split('.').at(-1)]))
  for (const name of [...personalStateFields, ...secretStateFields]) t.true(hidden.includes(name), name)
})

/** The paths in a value that `node` does not name. */
const unnamedIn = (value: unknown, node: unknown, path: string): ReadonlyArray<string> => {
  if (typeof value !== 'object' || value === null || node === personal || node === secret) return []
  if (value instanceof Map || value instanceof Set || Array.isArray(value))
    return [...value.values()].flatMap((one) => unnamedIn(one, node, path))
  const named = (typeof node === 'object' ? node : {}) as Readonly<Record<string, unknown>>
  return Object.entries(value).flatMap(([name, held]) =>
    Object.hasOwn(named, name) ? unnamedIn(held, named[name], `${path}.${name}`) : [`${path}.${name}`],
  )
}

test('whatever happens, a state holds no field that is not classified', (t) => {
  const states = new Map<string, unknown>()
  const met = new Set<string>()
  for (const event of eventfulHistory(1)) {
    const [name, decider] = byCategory.get(categoryOf(event.stream)) ?? []
    if (name === undefined || decider === undefined) return t.fail(event.stream)
    const state = decider.evolve(states.get(event.stream) ?? decider.initial, event)
    states.set(event.stream, state)
    met.add(name)
    t.deepEqual(unnamedIn(state, fields[name], name), [])
  }
  t.true(met.size > 12, [...met].join())
})
