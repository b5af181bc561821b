import { InvalidArgumentError, type Command } from 'commander'
import type { t } from '../../domain/codec.js'
import { isPosition, type Position } from '../../domain/event.js'
import type { Moment } from '../analysis/as-of.js'
import { instantFromText, type Instant } from '../../domain/instant.js'

/** @throws InvalidArgumentError */
export const timeIn = (text: string): Instant => {
  const instant = instantFromText(text)
  if (instant === undefined)
    throw new InvalidArgumentError('It must be a time in ISO 8601, such as 2026-01-15T12:00:00Z.')
  return instant
}

/** @throws InvalidArgumentError */
export const positionIn = (text: string): Position => {
  const position = /^\d+$/.test(text) ? BigInt(text) : -1n
  if (!isPosition(position)) throw new InvalidArgumentError('It must be a position that the log gave, or 0.')
  return position
}

/**
 * A position is a number alone; a time is anything else.
 * @throws InvalidArgumentError
 */
export const momentIn = (text: string): Moment => {
  if (/^\d+$/.test(text)) return { position: positionIn(text) }
  const at = instantFromText(text)
  if (at === undefined)
    throw new InvalidArgumentError('It must be a time in ISO 8601, such as 2026-01-15T12:00:00Z, or a position.')
  return { at }
}

type Range = { readonly from?: Instant; readonly to?: Instant }

/** @throws CommanderError, where nothing can lie in the range. */
export const refuseEmptyRange = ({ from, to }: Range, command: Command): void => {
  if (from !== undefined && to !== undefined && to <= from) command.error('error: --to must be later than --from')
}

/** Reads an id of one kind; its function throws InvalidArgumentError. */
export const idIn =
  <Id extends string>(codec: t.Type<Id, Id>) =>
  (text: string): Id => {
    if (!codec.is(text)) throw new InvalidArgumentError(`It must be ${codec.name}.`)
    return text
  }
