import type { InstanceRecord } from './instances.js'

/** The names of one kind of work, the instance that asks what it may hold of them, and all instances that live. */
export type Situation = {
  readonly work: string
  readonly names: ReadonlyArray<string>
  readonly instance: string
  readonly living: ReadonlyArray<InstanceRecord>
}

/** How many names an instance may hold where each of those that do the work holds as many, rounded up. */
const fairShare = ({ work, names, instance, living }: Situation): number => {
  const others = living.filter((one) => one._id !== instance && one.work.includes(work))
  return Math.ceil(names.length / (others.length + 1))
}

/**
 * The free names that an instance which holds so many should acquire to reach its fair share. Each instance begins at
 * another one, so that instances which acquire at the same time seldom want the same.
 */
export const namesToAcquire = (
  situation: Situation,
  free: ReadonlyArray<string>,
  own: number,
): ReadonlyArray<string> => {
  const { work, instance, living } = situation
  const instances = living
    .filter((one) => one.work.includes(work))
    .map(({ _id }) => _id)
    .sort()
  const first = Math.floor((Math.max(0, instances.indexOf(instance)) * free.length) / Math.max(1, instances.length))
  const missing = Math.max(0, fairShare(situation) - own)
  return [...free.slice(first), ...free.slice(0, first)].slice(0, missing)
}

/** Of the names that an instance holds those that are not part of the work any more, and those above its fair share. */
export const namesToGiveUp = (situation: Situation, own: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isNamed = (name: string): boolean => situation.names.includes(name)
  return [...own.filter((name) => !isNamed(name)), ...own.filter(isNamed).slice(fairShare(situation))]
}
