import { t } from './codec.js'
import type { AcceptedHosts } from './consent.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ApiKeyId, ConversionId, MemberId, PlaybookId } from './ids.js'
import { E, unreachable, type Either } from './prelude.js'

export const MemberRole = t.keyof({ admin: null, manager: null, agent: null }, 'admin, manager or agent')
export type MemberRole = t.TypeOf<typeof MemberRole>

const Limit = t.union([t.number, t.null])

/**
 * `from`: a number in E.164, or what the provider calls a pool of numbers. `messages_per_second`: null where the
 * provider keeps the pace.
 */
export const OwnSender = t.type({ from: t.string, messages_per_second: t.union([t.number, t.null]) }, 'a sender')
export type OwnSender = t.TypeOf<typeof OwnSender>

/** An account is opened enabled, with a playbook, the two standard conversions and one API key (contract 2.2). */
export const AccountEvent = t.union([
  eventOf(
    'AccountOpened',
    t.type({
      account_id: AccountId,
      title: t.string,
      sealed_secret: t.string,
      playbook_id: PlaybookId,
      quoted_id: ConversionId,
      sold_id: ConversionId,
    }),
  ),
  eventOf('AccountEnabled', t.type({})),
  eventOf('AccountDisabled', t.type({})),
  /** What HELP is answered with; null: the service's own words. */
  eventOf('HelpTextSet', t.type({ text: t.union([t.string, t.null]) })),
  /** Whether the provider answers STOP and HELP itself; null: as it does by default. */
  eventOf('KeywordAnswersSet', t.type({ by_provider: t.union([t.boolean, t.null]) })),
  /** What its messages are sent from; null: the sender that the accounts share. */
  eventOf('SenderSet', t.type({ sender: t.union([OwnSender, t.null]) })),
  /** Steps wait once so many segments were sent in a month; null: as many as there are. */
  eventOf('SegmentLimitSet', t.type({ segments_per_month: Limit })),
  /** From now on a number may have had a contact before, which was erased. */
  eventOf('ErasuresBegan', t.type({})),
  eventOf('ApiKeyIssued', t.type({ api_key_id: ApiKeyId, secret_hash: t.string, limit_per_minute: Limit })),
  eventOf('ApiKeyLimited', t.type({ api_key_id: ApiKeyId, limit_per_minute: Limit })),
  eventOf('ApiKeyRevoked', t.type({ api_key_id: ApiKeyId })),
  /** Null: any. */
  eventOf('ConsentHostsAccepted', t.type({ hosts: t.union([t.readonlyArray(t.string), t.null]) })),
  eventOf('MemberAdded', t.type({ member_id: MemberId, email: t.string, role: MemberRole })),
  eventOf('MemberRemoved', t.type({ member_id: MemberId })),
])
export type AccountEvent = t.TypeOf<typeof AccountEvent>

/**
 * An event of either copies all that there are, so that many would make an account slow to fold. Keys that were
 * revoked, and members that were removed, leave the state: an account may have had any number of them.
 */
export const mostApiKeys = 1_000
export const mostMembers = 1_000

type ApiKey = { readonly secretHash: string; readonly limitPerMinute: number | null }
type Member = { readonly email: string; readonly role: MemberRole }

export type AccountState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'open'
      readonly accountId: AccountId
      readonly title: string
      readonly enabled: boolean
      /** Whether the provider answers STOP and HELP itself; null: as it does by default. */
      readonly providerAnswersKeywords: boolean | null
      /** What HELP is answered with; null: the service's own words. */
      readonly helpText: string | null
      /** What its messages are sent from; null: the sender that the accounts share. */
      readonly sender: OwnSender | null
      /** Of all its steps in a month. */
      readonly segmentsPerMonth: number | null
      /** A contact of it was erased: whoever looks for the contact of a number must ask which one. */
      readonly hasErasures: boolean
      readonly sealedSecret: string
      readonly apiKeys: ReadonlyMap<ApiKeyId, ApiKey>
      readonly members: ReadonlyMap<MemberId, Member>
      readonly consentHosts: AcceptedHosts
    }

export type OpenAccount = Extract<AccountState, { readonly kind: 'open' }>

/** Whether it sends from there now; undefined: from the sender that the accounts share. */
export const sendsFrom = (state: AccountState, from: string | undefined): boolean =>
  state.kind === 'open' && state.sender?.from === from

export type AccountCommand =
  | {
      readonly type: 'OpenAccount'
      readonly accountId: AccountId
      readonly title: string
      readonly sealedSecret: string
      readonly playbookId: PlaybookId
      readonly quotedId: ConversionId
      readonly soldId: ConversionId
      readonly apiKeyId: ApiKeyId
      readonly apiKeyHash: string
    }
  | { readonly type: 'EnableAccount' }
  | { readonly type: 'DisableAccount' }
  | { readonly type: 'SetHelpText'; readonly text: string | null }
  | { readonly type: 'SetKeywordAnswers'; readonly byProvider: boolean | null }
  | { readonly type: 'SetSender'; readonly sender: OwnSender | null }
  | { readonly type: 'LimitSegments'; readonly segmentsPerMonth: number | null }
  | { readonly type: 'BeginErasures' }
  | {
      readonly type: 'IssueApiKey'
      readonly apiKeyId: ApiKeyId
      readonly secretHash: string
      readonly limitPerMinute: number | null
    }
  | { readonly type: 'LimitApiKey'; readonly apiKeyId: ApiKeyId; readonly limitPerMinute: number | null }
  | { readonly type: 'RevokeApiKey'; readonly apiKeyId: ApiKeyId }
  | { readonly type: 'AcceptConsentHosts'; readonly hosts: AcceptedHosts }
  | { readonly type: 'AddMember'; readonly memberId: MemberId; readonly email: string; readonly role: MemberRole }
  | { readonly type: 'RemoveMember'; readonly memberId: MemberId }

export type AccountRefusal =
  | { readonly kind: 'account-not-found' }
  | { readonly kind: 'api-key-not-found' }
  | { readonly kind: 'too-many-api-keys' }
  | { readonly kind: 'member-not-found' }
  | { readonly kind: 'member-already-added' }
  | { readonly kind: 'too-many-members' }

const evolve = (state: AccountState, event: AccountEvent): AccountState => {
  if (event.type === 'AccountOpened') {
    return {
      kind: 'open',
      accountId: event.data.account_id,
      title: event.data.title,
      enabled: true,
      helpText: null,
      sender: null,
      segmentsPerMonth: null,
      providerAnswersKeywords: null,
      hasErasures: false,
      sealedSecret: event.data.sealed_secret,
      apiKeys: new Map(),
      members: new Map(),
      consentHosts: null,
    }
  }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'AccountEnabled':
      return { ...state, enabled: true }
    case 'AccountDisabled':
      return { ...state, enabled: false }
    case 'KeywordAnswersSet':
      return { ...state, providerAnswersKeywords: event.data.by_provider }
    case 'HelpTextSet':
      return { ...state, helpText: event.data.text }
    case 'SenderSet':
      return { ...state, sender: event.data.sender }
    case 'SegmentLimitSet':
      return { ...state, segmentsPerMonth: event.data.segments_per_month }
    case 'ErasuresBegan':
      return { ...state, hasErasures: true }
    case 'ApiKeyIssued': {
      const { api_key_id, secret_hash, limit_per_minute } = event.data
      const issued = { secretHash: secret_hash, limitPerMinute: limit_per_minute }
      return { ...state, apiKeys: new Map(state.apiKeys).set(api_key_id, issued) }
    }
    case 'ApiKeyLimited': {
      const key = state.apiKeys.get(event.data.api_key_id)
      if (key === undefined) return state
      const limited = { ...key, limitPerMinute: event.data.limit_per_minute }
      return { ...state, apiKeys: new Map(state.apiKeys).set(event.data.api_key_id, limited) }
    }
    case 'ApiKeyRevoked':
      return { ...state, apiKeys: without(state.apiKeys, event.data.api_key_id) }
    case 'ConsentHostsAccepted':
      return { ...state, consentHosts: event.data.hosts }
    case 'MemberAdded': {
      const { member_id, email, role } = event.data
      return { ...state, members: new Map(state.members).set(member_id, { email, role }) }
    }
    case 'MemberRemoved':
      return { ...state, members: without(state.members, event.data.member_id) }
    default:
      return unreachable(event)
  }
}

const without = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => {
  const others = new Map(map)
  others.delete(key)
  return others
}

const isSame = (one: AcceptedHosts, other: AcceptedHosts): boolean =>
  one === null || other === null ? one === other : one.join() === other.join()

const isSameSender = (one: OwnSender | null, other: OwnSender | null): boolean =>
  one?.from === other?.from && one?.messages_per_second === other?.messages_per_second

type MessagingCommand = Extract<
  AccountCommand,
  { readonly type: 'SetKeywordAnswers' | 'SetHelpText' | 'SetSender' | 'LimitSegments' | 'AcceptConsentHosts' }
>

/** How it writes to its contacts. */
const changeMessaging = (command: MessagingCommand, state: OpenAccount): ReadonlyArray<AccountEvent> => {
  switch (command.type) {
    case 'SetKeywordAnswers': {
      const { byProvider: by_provider } = command
      return state.providerAnswersKeywords === by_provider ? [] : [{ type: 'KeywordAnswersSet', data: { by_provider } }]
    }
    case 'SetHelpText':
      return state.helpText === command.text ? [] : [{ type: 'HelpTextSet', data: { text: command.text } }]
    case 'SetSender': {
      const { sender } = command
      return isSameSender(state.sender, sender) ? [] : [{ type: 'SenderSet', data: { sender } }]
    }
    case 'LimitSegments': {
      const { segmentsPerMonth: segments_per_month } = command
      return state.segmentsPerMonth === segments_per_month
        ? []
        : [{ type: 'SegmentLimitSet', data: { segments_per_month } }]
    }
    case 'AcceptConsentHosts': {
      const { hosts } = command
      return isSame(hosts, state.consentHosts) ? [] : [{ type: 'ConsentHostsAccepted', data: { hosts } }]
    }
    default:
      return unreachable(command)
  }
}

const decide = (command: AccountCommand, state: AccountState): Either<AccountRefusal, ReadonlyArray<AccountEvent>> => {
  if (command.type === 'OpenAccount') {
    if (state.kind === 'open') return E.right([])
    return E.right([
      {
        type: 'AccountOpened',
        data: {
          account_id: command.accountId,
          title: command.title,
          sealed_secret: command.sealedSecret,
          playbook_id: command.playbookId,
          quoted_id: command.quotedId,
          sold_id: command.soldId,
        },
      },
      {
        type: 'ApiKeyIssued',
        data: { api_key_id: command.apiKeyId, secret_hash: command.apiKeyHash, limit_per_minute: null },
      },
    ])
  }
  if (state.kind === 'unknown') return E.left({ kind: 'account-not-found' })
  switch (command.type) {
    case 'EnableAccount':
      return E.right(state.enabled ? [] : [{ type: 'AccountEnabled', data: {} }])
    case 'DisableAccount':
      return E.right(state.enabled ? [{ type: 'AccountDisabled', data: {} }] : [])
    case 'SetKeywordAnswers':
    case 'SetHelpText':
    case 'SetSender':
    case 'LimitSegments':
    case 'AcceptConsentHosts':
      return E.right(changeMessaging(command, state))
    case 'BeginErasures':
      return E.right(state.hasErasures ? [] : [{ type: 'ErasuresBegan', data: {} }])
    case 'IssueApiKey': {
      if (state.apiKeys.has(command.apiKeyId)) return E.right([])
      if (state.apiKeys.size >= mostApiKeys) return E.left({ kind: 'too-many-api-keys' })
      const { apiKeyId, secretHash, limitPerMinute } = command
      const data = { api_key_id: apiKeyId, secret_hash: secretHash, limit_per_minute: limitPerMinute }
      return E.right([{ type: 'ApiKeyIssued', data }])
    }
    case 'LimitApiKey': {
      const key = state.apiKeys.get(command.apiKeyId)
      if (key === undefined) return E.left({ kind: 'api-key-not-found' })
      if (key.limitPerMinute === command.limitPerMinute) return E.right([])
      const data = { api_key_id: command.apiKeyId, limit_per_minute: command.limitPerMinute }
      return E.right([{ type: 'ApiKeyLimited', data }])
    }
    case 'RevokeApiKey':
      if (!state.apiKeys.has(command.apiKeyId)) return E.left({ kind: 'api-key-not-found' })
      return E.right([{ type: 'ApiKeyRevoked', data: { api_key_id: command.apiKeyId } }])
    case 'AddMember': {
      const email = command.email.toLowerCase()
      const known = [...state.members.values()].some((member) => member.email.toLowerCase() === email)
      if (known) return E.left({ kind: 'member-already-added' })
      if (state.members.size >= mostMembers) return E.left({ kind: 'too-many-members' })
      const data = { member_id: command.memberId, email: command.email, role: command.role }
      return E.right([{ type: 'MemberAdded', data }])
    }
    case 'RemoveMember':
      if (!state.members.has(command.memberId)) return E.left({ kind: 'member-not-found' })
      return E.right([{ type: 'MemberRemoved', data: { member_id: command.memberId } }])
    default:
      return unreachable(command)
  }
}

export const account: Decider<AccountState, AccountCommand, AccountEvent, AccountRefusal> = {
  category: 'account',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
