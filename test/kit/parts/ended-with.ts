import { getEventListeners } from 'node:events'

/**
 * How much a signal refers to that ends with it: its listeners, and what `AbortSignal.any` made of it, also where
 * nobody else refers to that any more. Of no meaning but beside another count.
 */
export const endedWith = (signal: AbortSignal): number => {
  const own = signal as unknown as Readonly<Record<symbol, { readonly size?: number } | null | undefined>>
  return Object.getOwnPropertySymbols(signal)
    .map((name) => own[name]?.size ?? 0)
    .reduce((sum, size) => sum + size, getEventListeners(signal, 'abort').length)
}
