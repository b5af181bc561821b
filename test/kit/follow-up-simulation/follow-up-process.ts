import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { loadState } from '../../../app/commands/states/current-states.js'
import type { AccountState } from '../../../domain/account.js'
import { contact, type KnownContact } from '../../../domain/contact.js'
import type { AccountId, ContactId, MessageId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import { message } from '../../../domain/message.js'
import type { Messenger } from '../../../domain/messenger.js'
import { E } from '../../../domain/prelude.js'
import { meaningOf } from '../../../domain/reply-meaning.js'
import { sendingHold } from '../../../domain/sending-hold.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { ConsentVerifier } from '../../../projections/follow-up/consent-verifier.js'
import { playbookVersions } from '../../../projections/from-streams/playbook-versions.js'
import { followUpWorker } from '../../../projections/follow-up/worker.js'
import { anyProjection } from '../../../projections/projection.js'
import { queries as queriesOn } from '../../../projections/queries.js'
import { contactShards } from '../../../projections/read-models/contact-shards.js'
import { followUps } from '../../../projections/read-models/follow-ups.js'
import { lastSentTo } from '../../../app/messaging/last-sent.js'
import { messages } from '../../../projections/read-models/messages.js'
import { follow, type RunningFollower } from '../../../projections/subscriptions/follower.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { openAccountState } from '../domain/account-state.js'
import { accountId } from '../domain/samples.js'
import type { LifeParts } from '../simulation/lives.js'
import { virtualFollowers, type Execute } from '../simulation/virtual-followers.js'
import { accountNumber } from './accounts.js'

/** The parts of the service that follow up, wired as `app/composition` wires them. */
export type FollowUpProcess = {
  readonly begin: () => Promise<void>
  /** Ends in good order: others may take over at once. */
  readonly leave: () => Promise<void>
  readonly execute: Execute
  /** Undefined where no lead of it was submitted. */
  readonly contact: (id: ContactId) => Promise<KnownContact | undefined>
  /** The contact writes, as `POST …/contacts/{nct}/messages` stands for it. */
  readonly hear: (id: ContactId, messageId: MessageId, text: string) => Promise<void>
}

type ProcessPorts = LifeParts & {
  readonly messenger: Messenger
  readonly consentVerifier: ConsentVerifier
}

/** Positions that a follower may advance without saving its checkpoint. */
const unsaved = 100n

const day = 24 * 60 * 60_000

export const followUpProcess = (ports: ProcessPorts): FollowUpProcess => {
  const { store, documents, clock, shared } = ports
  const queries = queriesOn({ store, documents, hasPendingReactions: () => Promise.resolve(false) })
  const isShared = shared !== undefined
  const membership = shared ?? singleProcessMembership()
  const followers = virtualFollowers({ ...ports, unsaved: isShared ? 1n : unsaved, isShared })
  const { commandHandler, monotonic, backoff, readModel, reactions, execute } = followers
  const following: Array<RunningFollower> = []
  const followUpsFollower = readModel(anyProjection(followUps))
  const messagesFollower = readModel(anyProjection(messages))
  const worker = followUpWorker({
    ...ports,
    ...{ commandHandler, monotonic, backoff, followUpsFollower, messagesFollower, failingWork: failingWork(monotonic) },
    playbookAt: playbookVersions(store),
    siteUrl: Promise.resolve('https://leads.example.com'),
    currentAccount: (id) => Promise.resolve(E.right(simulatedAccount(id))),
    senderOptOuts: { includes: () => Promise.resolve(E.right(false)) },
    currentHold: (id) => loadState(commandHandler, sendingHold, id),
  })

  const known = async (id: ContactId): Promise<KnownContact | undefined> => {
    const state = orThrow(await loadState(commandHandler, contact, id))
    return state.kind === 'known' ? state : undefined
  }

  return {
    begin: async () => {
      const head = orThrow(await store.head())
      const running = [followUpsFollower, messagesFollower, reactions]
      const byName = new Map(running.map((one) => [one.name, one]))
      membership.share(
        'projector',
        () => [...byName.keys()],
        async (lease) => byName.get(lease.name)?.run(lease),
      )
      membership.share('follow-up', () => contactShards.names, worker.work)
      await Promise.all(running.map((one) => one.caughtUpHere(head, new AbortController().signal)))
      following.push(follow(worker.follower, followers.following))
    },
    leave: async () => {
      await membership.leave()
      await Promise.all(following.map((one) => one.stop()))
    },
    execute,
    contact: known,
    hear: async (id, messageId, text) => {
      const person = await known(id)
      if (person === undefined) return
      const last = orThrow(await lastSentTo(queries, id))
      const engagementId = last?.document.engagement_id ?? person.newest?.engagementId
      if (engagementId === undefined) return
      const { settings } = accountNumber(person.accountId === accountId(1) ? 1 : 2)
      const meaning = meaningOf(text, settings, person.optedOut)
      const answers = { opted_out: { answer: 'confirmation' }, help: { answer: 'help' } } as const
      const facts = {
        ...{ message_id: messageId, account_id: person.accountId, contact_id: id, engagement_id: engagementId },
        ...{ text, meaning, ...(meaning === 'opted_out' || meaning === 'help' ? answers[meaning] : {}) },
        paused_until: later(clock.now(), day),
        gives_up_at: later(clock.now(), settings.give_up_after_minutes * 60_000),
      }
      await execute(message, messageId, { type: 'ReceiveMessage', facts })
    },
  }
}

const simulatedAccount = (id: AccountId): AccountState =>
  openAccountState({ accountId: id, title: accountNumber(id === accountId(1) ? 1 : 2).title })
