/** Texts of one run without what differs from run to run; everything else stays as it is, byte for byte. */
export type Normaliser = {
  /** An id that is met for the first time gets the next number of its kind: `nct_#1`. */
  readonly text: (raw: string) => string
  /** The same, and no id may be new: for texts whose order is not known before they are normalised. */
  readonly known: (raw: string) => string
}

/** Where something of this run answers, under the name that stands for it. */
type Places = Readonly<Record<string, string>>

/** Made-up ids of zeros are the same in every run. */
const ids = /\b(acc|key|mbr|ply|mks|cnv|led|nct|neg|ccv|whk|dlv|rsd|ntc)_(?!0{26})[0-9A-HJKMNP-TV-Z]{26}/gi
const cursors = /(?<="next_cursor":"|[?&]cursor=)[\w-]{20,}/g
const signingSecrets = /whsec_[A-Za-z0-9+/]{43}=/g
const uuids = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g
const times = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g

/** Whatever differs and is told apart by nobody. */
const unnumbered: ReadonlyArray<readonly [pattern: RegExp, name: string]> = [
  [/(?<=\bkey_[0-9A-Z]{26}\.)[\w-]{43}/g, '<secret>'],
  [/\btest_[0-9A-HJKMNP-TV-Z]{26}/g, '<test>'],
  [/\bv1,[A-Za-z0-9+/]{43}=/g, 'v1,<signature>'],
  // A pooled connection is not connected anew, so that even null differs.
  [/(?<="(?:duration_ms|connect|first_byte|total)":)(?:\d+|null)/g, '<ms>'],
]

/**
 * The years that a clock of the service can show. What lies before and after them was sent by the script, and stays.
 */
const years = { first: '2025', last: '2899' } as const

const isOfTheRun = (time: string): boolean => time.slice(0, 4) >= years.first && time.slice(0, 4) <= years.last

export const normaliser = (places: Places): Normaliser => {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()

  const nameOf = (kind: string, raw: string): string => {
    const known = names.get(raw)
    if (known !== undefined) return known
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    const name = `${kind}_#${count}`
    names.set(raw, name)
    return name
  }

  /** Whoever writes an id in small letters means another one, which is nobody's. */
  const idOf = (kind: string, id: string): string => {
    const written = `${kind}_${id.slice(kind.length + 1).toUpperCase()}`
    return id === written ? nameOf(kind, id) : `${nameOf(kind, written)}<in small letters>`
  }

  const text = (raw: string): string => {
    const placed = Object.entries(places).reduce((rest, [name, url]) => rest.replaceAll(url, `<${name}>`), raw)
    return unnumbered
      .reduce((rest, [pattern, name]) => rest.replaceAll(pattern, name), placed)
      .replaceAll(cursors, (cursor) => nameOf('cursor', cursor))
      .replaceAll(ids, (id, kind: string) => idOf(kind, id))
      .replaceAll(signingSecrets, (secret) => nameOf('whsec', secret))
      .replaceAll(uuids, (uuid) => nameOf('uuid', uuid))
      .replaceAll(times, (time) => (isOfTheRun(time) ? '<time>' : time))
  }

  const known = (raw: string): string => {
    const before = names.size
    const normalised = text(raw)
    if (names.size > before) throw new Error(`an id of this text was in no answer: ${normalised}`)
    return normalised
  }

  return { text, known }
}
