import test, { type ExecutionContext } from 'ava'

type Closable = { readonly close: () => Promise<void> }

/** Defines one test of a contract. */
export type Behaviour<Opened extends Closable> = (
  title: string,
  check: (t: ExecutionContext, opened: Opened) => Promise<void>,
) => void

/** Each test of the contract opens the adapter `name` anew, and closes it afterwards. */
export const behaviourOf =
  <Opened extends Closable>(name: string, open: () => Promise<Opened>): Behaviour<Opened> =>
  (title, check) => {
    test.serial(`${name}: ${title}`, async (t) => {
      const opened = await open()
      try {
        await check(t, opened)
      } finally {
        await opened.close()
      }
    })
  }
