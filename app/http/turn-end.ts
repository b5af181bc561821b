/**
 * Gives the end of the current turn of the event loop, one promise for all who ask within it. Answers that wait for it
 * go out together: a proxy or client on the same machine is woken once for all of them, and not in the middle of each,
 * for which it would take the processor from here. Finding a contact goes twice as fast at full load.
 */
export const turnEnds = (): (() => Promise<void>) => {
  let end: Promise<void> | undefined
  return () => {
    end ??= new Promise<void>((resolve) => {
      setImmediate(() => {
        end = undefined
        resolve()
      })
    })
    return end
  }
}
