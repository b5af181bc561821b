/** A claim on a name: at most one process holds it at a time. */
export type Claim = {
  readonly name: string
  /** Grows with each new holder of the name: what fences a holder that was paused. */
  readonly term: number
  /** False from the moment when another process may hold it: asked before every write. */
  readonly isHeld: () => boolean
  /** Aborts when it is lost or released. */
  readonly lost: AbortSignal
  /** Gives it back at once, for others to take. */
  readonly release: () => Promise<void>
}
/** One process among those that share work. */
export type Membership = {
  /** Keeps taking this member's fair share of `names` among the living members that do `work`, and gives up what is above it when members join. `begin` is called with each claim that is taken; what it gives resolves when the work under the claim has ended, after `lost` aborted; only then is the name released for others. */
  readonly share: (work: string, names: () => ReadonlyArray<string>, begin: (claim: Claim) => Promise<void>) => void
  /** Gives everything back and leaves. */
  readonly leave: () => Promise<void>
}
