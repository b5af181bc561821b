import { Readable } from 'node:stream'

/** The body of a request, of which nothing is sent, headers included, before it is released. */
export class HeldBody extends Readable {
  isReleased = false
  readonly #text: string

  constructor(text: string) {
    super()
    this.#text = text
  }

  release(): void {
    this.isReleased = true
    this.push(this.#text)
    this.push(null)
  }

  /** There is nothing to fetch: what there is comes with the release. */
  override _read(): void {
    return undefined
  }
}
