import type { Document } from 'mongodb'
import { documentOf, type Message } from './wire.js'

/** A command of a client, such as `update` on a collection. */
export type Command = { readonly name: string; readonly collection: string; readonly document: Document }

/** Undefined where a message is none. */
export const commandIn = (message: Message): Command | undefined => {
  const document = documentOf(message)
  const [first] = Object.entries(document ?? {})
  if (document === undefined || first === undefined) return undefined
  return { name: first[0], collection: String(first[1]), document }
}
