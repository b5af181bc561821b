import type { status } from '@grpc/grpc-js'
import { liveBuffer, type Answers } from './version.js'
import { notLeader, refused, type CallStatus } from './statuses.js'

type Leader = { readonly host: string; readonly port: number }

/** What a test does to the double. Everything ends with `clear`, also what counts down and has not run out. */
export type Faults = {
  /**
   * Calls are refused with a status and do nothing; `all` are those of the feature probe and the gossip too.
   * `category`: of appends those to its streams alone.
   */
  readonly refuse: (which: 'all' | 'appends' | 'reads', code: status, category?: string) => void
  /** Each append is written, and answered, only so many milliseconds after it came. */
  readonly delayAppends: (milliseconds: number) => void
  /** The next appends are written, and their call breaks (UNAVAILABLE) instead of an answer. */
  readonly breakAfterWriting: (appends: number) => void
  /** The next appends are written and never answered. */
  readonly leaveUnanswered: (appends: number) => void
  /**
   * Calls are accepted, and nothing is done or said on any, new or old. With `clear` all go on, unless they were given
   * up. Unlike those of a process that is stopped its connections stay alive: pings are answered.
   */
  readonly beSilent: () => void
  /** Subscriptions stay open and give nothing. After `clear` they go on with the next event that is written. */
  readonly muteSubscriptions: () => void
  /**
   * A subscription ends (UNAVAILABLE, or without an error) after every so many events that it gave; in total so many
   * times.
   */
  readonly cutSubscriptions: (everyEvents: number, times: number, how?: 'unavailable' | 'cleanly') => void
  /**
   * A live subscription ends (ABORTED) once it can't be written to and more than so many of its events wait: its reader
   * is slow, or there are many events at once. 23.10 does so always, with 32 of them.
   */
  readonly dropSlowSubscribers: (waiting?: number) => void
  /**
   * Appends, and reads and subscriptions that ask for the leader, are answered with the node to send them to instead.
   */
  readonly followLeader: (leader: Leader) => void
  /** The next so many feature probes fail with a status. */
  readonly failProbes: (code: status, probes: number) => void
  readonly clear: () => void
}

type CallKind = 'append' | 'read' | 'other'

/** What the calls ask about the faults of the moment. */
export type ActiveFaults = {
  /** `stream`: of an append. */
  readonly refusalOf: (kind: CallKind, stream?: string, requiresLeader?: boolean) => CallStatus | undefined
  readonly appendDelay: () => number
  /** How the append that was just written ends. */
  readonly endOfAppend: () => 'answered' | 'broken' | 'unanswered'
  readonly isSilent: () => boolean
  readonly areSubscriptionsMute: () => boolean
  /** Runs `go` now, or when the silence is over. */
  readonly whenSpeaking: (go: () => void) => void
  /** How a subscription ends that has given so many events, if it does. */
  readonly cutAfter: (events: number) => 'unavailable' | 'cleanly' | undefined
  /** How many events may wait for the reader of a live subscription. */
  readonly mayWait: () => number
  readonly probeFailure: () => CallStatus | undefined
}

type State = {
  refusal:
    | { readonly which: 'all' | 'appends' | 'reads'; readonly code: status; readonly category: string | undefined }
    | undefined
  delay: number
  toBreak: number
  toLeave: number
  isSilent: boolean
  areSubscriptionsMute: boolean
  cut: { readonly every: number; readonly how: 'unavailable' | 'cleanly'; left: number } | undefined
  mayWait: number
  leader: Leader | undefined
  probes: { readonly code: status; left: number } | undefined
}

const noFaults: Omit<State, 'mayWait'> = {
  refusal: undefined,
  delay: 0,
  toBreak: 0,
  toLeave: 0,
  isSilent: false,
  areSubscriptionsMute: false,
  cut: undefined,
  leader: undefined,
  probes: undefined,
}

export const openFaults = ({ mayWait }: Answers): { readonly faults: Faults; readonly active: ActiveFaults } => {
  const none = { ...noFaults, mayWait }
  let state: State = { ...none }
  let held: Array<() => void> = []

  const faults: Faults = {
    refuse: (which, code, category) => {
      state.refusal = { which, code, category }
    },
    delayAppends: (milliseconds) => {
      state.delay = milliseconds
    },
    breakAfterWriting: (appends) => {
      state.toBreak = appends
    },
    leaveUnanswered: (appends) => {
      state.toLeave = appends
    },
    beSilent: () => {
      state.isSilent = true
    },
    muteSubscriptions: () => {
      state.areSubscriptionsMute = true
    },
    cutSubscriptions: (every, times, how = 'unavailable') => {
      state.cut = { every, how, left: times }
    },
    dropSlowSubscribers: (waiting = liveBuffer) => {
      state.mayWait = waiting
    },
    followLeader: (leader) => {
      state.leader = leader
    },
    failProbes: (code, probes) => {
      state.probes = { code, left: probes }
    },
    clear: () => {
      state = { ...none }
      const waiting = held
      held = []
      for (const go of waiting) go()
    },
  }

  const active: ActiveFaults = {
    refusalOf: (kind, stream, requiresLeader = kind === 'append') => {
      const { refusal, leader } = state
      const concerns = refusal?.category === undefined || stream?.startsWith(`${refusal.category}-`) === true
      if (refusal !== undefined && concerns && (refusal.which === 'all' || refusal.which === `${kind}s`))
        return refused(refusal.code)
      return leader !== undefined && requiresLeader ? notLeader(leader.host, leader.port) : undefined
    },
    appendDelay: () => state.delay,
    endOfAppend: () => {
      if (state.toBreak > 0) {
        state.toBreak -= 1
        return 'broken'
      }
      if (state.toLeave > 0) {
        state.toLeave -= 1
        return 'unanswered'
      }
      return 'answered'
    },
    isSilent: () => state.isSilent,
    areSubscriptionsMute: () => state.areSubscriptionsMute,
    whenSpeaking: (go) => {
      if (state.isSilent) held.push(go)
      else go()
    },
    cutAfter: (events) => {
      const { cut } = state
      if (cut === undefined || cut.left === 0 || events < cut.every) return undefined
      cut.left -= 1
      return cut.how
    },
    mayWait: () => state.mayWait,
    probeFailure: () => {
      const { probes } = state
      if (probes === undefined || probes.left === 0) return undefined
      probes.left -= 1
      return refused(probes.code)
    },
  }
  return { faults, active }
}
