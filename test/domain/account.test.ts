import test from 'ava'
import { account, sendsFrom, type AccountCommand, type AccountEvent } from '../../domain/account.js'
import { fold } from '../../domain/decider.js'
import { openAccountState } from '../kit/domain/account-state.js'
import { accountId, apiKeyId, conversionId, memberId, playbookId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const open: AccountCommand = {
  type: 'OpenAccount',
  accountId: accountId(),
  title: 'Example Insurance',
  sealedSecret: 'sealed',
  playbookId: playbookId(),
  quotedId: conversionId(1),
  soldId: conversionId(2),
  apiKeyId: apiKeyId(1),
  apiKeyHash: 'hash 1',
}

const opened: AccountEvent = {
  type: 'AccountOpened',
  data: {
    account_id: accountId(),
    title: 'Example Insurance',
    sealed_secret: 'sealed',
    playbook_id: playbookId(),
    quoted_id: conversionId(1),
    sold_id: conversionId(2),
  },
}

const issued = (n: number, limit: number | null = null): AccountEvent => ({
  type: 'ApiKeyIssued',
  data: { api_key_id: apiKeyId(n), secret_hash: `hash ${n}`, limit_per_minute: limit },
})

const revoked: AccountEvent = { type: 'ApiKeyRevoked', data: { api_key_id: apiKeyId(1) } }
const disabled: AccountEvent = { type: 'AccountDisabled', data: {} }
const enabled: AccountEvent = { type: 'AccountEnabled', data: {} }

const added = (n: number, email: string): AccountEvent => ({
  type: 'MemberAdded',
  data: { member_id: memberId(n), email, role: 'admin' },
})

const addMember = (n: number, email: string): AccountCommand => ({
  type: 'AddMember',
  memberId: memberId(n),
  email,
  role: 'admin',
})

test('opening an account issues its first API key', (t) => {
  given(t, account).when(open).then(opened, issued(1))
})

test('an account opens enabled, with no member and one API key', (t) => {
  t.deepEqual(fold(account, account.initial, [opened, issued(1)]), {
    kind: 'open',
    accountId: accountId(),
    title: 'Example Insurance',
    enabled: true,
    helpText: null,
    sender: null,
    segmentsPerMonth: null,
    providerAnswersKeywords: null,
    hasErasures: false,
    sealedSecret: 'sealed',
    apiKeys: new Map([[apiKeyId(1), { secretHash: 'hash 1', limitPerMinute: null }]]),
    members: new Map(),
    consentHosts: null,
  })
})

test('opening an account again changes nothing', (t) => {
  given(t, account, opened, issued(1)).when(open).isAlreadySo()
})

test('an account that was never opened refuses everything else', (t) => {
  const commands: ReadonlyArray<AccountCommand> = [
    { type: 'EnableAccount' },
    { type: 'DisableAccount' },
    { type: 'IssueApiKey', apiKeyId: apiKeyId(2), secretHash: 'hash 2', limitPerMinute: null },
    { type: 'LimitApiKey', apiKeyId: apiKeyId(1), limitPerMinute: 60 },
    { type: 'RevokeApiKey', apiKeyId: apiKeyId(1) },
    addMember(1, 'admin@example.com'),
    { type: 'RemoveMember', memberId: memberId(1) },
  ]
  for (const command of commands) given(t, account).when(command).refuses('account-not-found')
})

test('an account is disabled once and enabled once', (t) => {
  given(t, account, opened).when({ type: 'EnableAccount' }).isAlreadySo()
  given(t, account, opened).when({ type: 'DisableAccount' }).then(disabled)
  given(t, account, opened, disabled).when({ type: 'DisableAccount' }).isAlreadySo()
  given(t, account, opened, disabled).when({ type: 'EnableAccount' }).then(enabled)
  given(t, account, opened, disabled, enabled).when({ type: 'DisableAccount' }).then(disabled)
})

test('another API key is issued with its limit', (t) => {
  const command = { type: 'IssueApiKey', apiKeyId: apiKeyId(2), secretHash: 'hash 2', limitPerMinute: 60 } as const
  given(t, account, opened, issued(1)).when(command).then(issued(2, 60))
})

test('issuing an API key again changes nothing', (t) => {
  const command = { type: 'IssueApiKey', apiKeyId: apiKeyId(1), secretHash: 'other', limitPerMinute: 60 } as const
  given(t, account, opened, issued(1)).when(command).isAlreadySo()
})

test('the limit of an API key changes only where it differs', (t) => {
  const limited: AccountEvent = { type: 'ApiKeyLimited', data: { api_key_id: apiKeyId(1), limit_per_minute: 60 } }
  const limit = (limitPerMinute: number | null): AccountCommand => ({
    type: 'LimitApiKey',
    apiKeyId: apiKeyId(1),
    limitPerMinute,
  })
  given(t, account, opened, issued(1)).when(limit(60)).then(limited)
  given(t, account, opened, issued(1), limited).when(limit(60)).isAlreadySo()
  given(t, account, opened, issued(1)).when(limit(null)).isAlreadySo()
  given(t, account, opened).when(limit(60)).refuses('api-key-not-found')
})

test('a limit leaves the hash of the key as it was', (t) => {
  const limited: AccountEvent = { type: 'ApiKeyLimited', data: { api_key_id: apiKeyId(1), limit_per_minute: 60 } }
  const state = fold(account, account.initial, [opened, issued(1), limited])
  t.deepEqual(state.kind === 'open' && state.apiKeys.get(apiKeyId(1)), { secretHash: 'hash 1', limitPerMinute: 60 })
})

test('a revoked API key is gone', (t) => {
  const revoke: AccountCommand = { type: 'RevokeApiKey', apiKeyId: apiKeyId(1) }
  given(t, account, opened, issued(1)).when(revoke).then(revoked)
  given(t, account, opened, issued(1), revoked).when(revoke).refuses('api-key-not-found')
  const limit: AccountCommand = { type: 'LimitApiKey', apiKeyId: apiKeyId(1), limitPerMinute: 60 }
  given(t, account, opened, issued(1), revoked).when(limit).refuses('api-key-not-found')
})

test('a member is added', (t) => {
  given(t, account, opened).when(addMember(1, 'admin@example.com')).then(added(1, 'admin@example.com'))
})

test('an e-mail address belongs to one member, whatever its case', (t) => {
  given(t, account, opened, added(1, 'Admin@example.com'))
    .when(addMember(2, 'admin@EXAMPLE.com'))
    .refuses('member-already-added')
})

const issue = (n: number): AccountCommand => ({
  type: 'IssueApiKey',
  apiKeyId: apiKeyId(n),
  secretHash: `hash ${n}`,
  limitPerMinute: null,
})

const upTo = (n: number) => Array.from({ length: n }, (_, index) => index + 1)

test('whatever was issued before, an account has 1,000 API keys at most, and with one that is revoked there is room again', (t) => {
  const gone = upTo(500).flatMap((n): ReadonlyArray<AccountEvent> => [
    issued(2_000 + n),
    { type: 'ApiKeyRevoked', data: { api_key_id: apiKeyId(2_000 + n) } },
  ])
  const full = [opened, ...gone, ...upTo(1_000).map((n) => issued(n))]
  given(t, account, ...full)
    .when(issue(1_001))
    .refuses('too-many-api-keys')
  given(t, account, ...full)
    .when(issue(1_000))
    .isAlreadySo()
  given(t, account, ...full, revoked)
    .when(issue(1_001))
    .then(issued(1_001))
})

test('an account has 1,000 members at most, and with one that is removed there is room again', (t) => {
  const full = [opened, ...upTo(1_000).map((n) => added(n, `member-${n}@example.com`))]
  const one = addMember(1_001, 'one-more@example.com')
  given(t, account, ...full)
    .when(one)
    .refuses('too-many-members')
  given(t, account, ...full)
    .when(addMember(1_001, 'member-1@example.com'))
    .refuses('member-already-added')
  given(t, account, ...full, { type: 'MemberRemoved', data: { member_id: memberId(1) } })
    .when(one)
    .then(added(1_001, 'one-more@example.com'))
})

test('a removed member is gone and may be added again', (t) => {
  const remove: AccountCommand = { type: 'RemoveMember', memberId: memberId(1) }
  const removed: AccountEvent = { type: 'MemberRemoved', data: { member_id: memberId(1) } }
  const member = added(1, 'admin@example.com')
  given(t, account, opened, member).when(remove).then(removed)
  given(t, account, opened, member, removed).when(remove).refuses('member-not-found')
  given(t, account, opened, member, removed).when(addMember(2, 'admin@example.com')).then(added(2, 'admin@example.com'))
})

test('an account sends from its own sender alone, or from the shared one where it has none', (t) => {
  const from = '+14155550100'
  const withOwn = openAccountState({ sender: { from, messages_per_second: null } })
  t.true(sendsFrom(withOwn, from))
  t.false(sendsFrom(withOwn, undefined), 'it has one of its own by now')
  t.true(sendsFrom(openAccountState(), undefined))
  t.false(sendsFrom(openAccountState(), from), 'it sends from the shared one by now')
})

test('an account remembers that a contact of it was erased, and is told once', (t) => {
  given(t, account, opened, issued(1)).when({ type: 'BeginErasures' }).then({ type: 'ErasuresBegan', data: {} })
  given(t, account, opened, { type: 'ErasuresBegan', data: {} }).when({ type: 'BeginErasures' }).isAlreadySo()
  const state = fold(account, account.initial, [opened, { type: 'ErasuresBegan', data: {} }])
  t.true(state.kind === 'open' && state.hasErasures)
})
