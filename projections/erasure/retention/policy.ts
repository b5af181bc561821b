import type { Json } from '../../ports.js'
import type { Projection } from '../../projection.js'
import type { Lease } from '../../subscriptions/leases.js'

/** What is removed after so many days, one document of a read model at a time. */
export type RetentionPolicy<Document extends Json> = {
  /** The lease under which it is removed. */
  readonly name: string
  /** In the plural: for the log. */
  readonly what: string
  readonly projection: Projection<Document>
  /** The stream of a document. */
  readonly streamOf: (key: string) => string
  /** The type of the event that closes such a stream. */
  readonly closedBy: string
  /** States in which nothing more happens by itself. The index `of_all` has the state first. */
  readonly ended: ReadonlyArray<string>
  /** The index of what was removed, by when that was. */
  readonly removed: string
  /** Whether it was removed: it may turn out that it is still needed. */
  readonly remove: (document: Document, lease: Lease) => Promise<boolean>
}
