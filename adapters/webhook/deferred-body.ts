import { Readable } from 'node:stream'

/** The body of a request, of which nothing is sent before it is released, not even the headers. */
export class DeferredBody extends Readable {
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

  /** There is nothing to fetch: all of it is pushed with the release. */
  override _read(): void {
    return undefined
  }
}
