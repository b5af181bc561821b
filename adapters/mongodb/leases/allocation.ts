import type { MemberRecord } from './members.js'

/** The names of one kind of work, the member that asks what it may hold of them, and all members that live. */
export type Situation = {
  readonly work: string
  readonly names: ReadonlyArray<string>
  readonly member: string
  readonly living: ReadonlyArray<MemberRecord>
}

/** How many names a member may hold where each of those that do the work holds as many, rounded up. */
const fairShare = ({ work, names, member, living }: Situation): number => {
  const others = living.filter((one) => one._id !== member && one.work.includes(work))
  return Math.ceil(names.length / (others.length + 1))
}

/**
 * The free names that a member which holds so many should acquire to reach its fair share. Each member begins at another one, so
 * that members which acquire at the same time seldom want the same.
 */
export const namesToAcquire = (
  situation: Situation,
  free: ReadonlyArray<string>,
  held: number,
): ReadonlyArray<string> => {
  const { work, member, living } = situation
  const members = living
    .filter((one) => one.work.includes(work))
    .map(({ _id }) => _id)
    .sort()
  const first = Math.floor((Math.max(0, members.indexOf(member)) * free.length) / Math.max(1, members.length))
  const missing = Math.max(0, fairShare(situation) - held)
  return [...free.slice(first), ...free.slice(0, first)].slice(0, missing)
}

/** Of the names that a member holds those that are not part of the work any more, and those above its fair share. */
export const namesToGiveUp = (situation: Situation, held: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isNamed = (name: string): boolean => situation.names.includes(name)
  return [...held.filter((name) => !isNamed(name)), ...held.filter(isNamed).slice(fairShare(situation))]
}
