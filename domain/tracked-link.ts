import { refined, t } from './codec.js'
import { webAddressFromText } from './web-address.js'

const code = '[0-9A-HJKMNP-TV-Z]{14}'

/** 70 random bits in Crockford's base 32: whoever has it is the contact, or was sent the message by the contact. */
const LinkCode = refined(
  'the code of a tracked link',
  (value): value is string => typeof value === 'string' && new RegExp(`^${code}$`).test(value),
)

/** The links of one message: where they lead to, in their order. What is sent in their stead is `linkUrl`. */
export const TrackedLinks = t.type({ code: LinkCode, urls: t.readonlyArray(t.string) }, 'tracked links')
export type TrackedLinks = t.TypeOf<typeof TrackedLinks>

/** In one message: the number of a link is a digit. */
export const mostLinks = 10

/** Of 26 random letters, as ids have them. */
export const linkCodeFrom = (unguessable: string): string => unguessable.slice(-14)

/** What stands in the message. `index` counts from 0. */
export const linkUrl = (site: string, linkCode: string, index: number): string => `${site}/l/${linkCode}${index}`

/** Which link the end of such a URL names; undefined where it can't be one. */
export const linkFromPath = (text: string): { readonly code: string; readonly index: number } | undefined => {
  const [, found, index] = new RegExp(`^(${code})(\\d)$`).exec(text) ?? []
  return found === undefined ? undefined : { code: found, index: Number(index) }
}

/** Where a link of a message leads to, in ASCII alone, as a header needs it; undefined where it may not lead there. */
export const linkTarget = (text: string): string | undefined => webAddressFromText(text)?.href
