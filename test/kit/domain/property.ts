import type { ExecutionContext } from 'ava'
import fc from 'fast-check'

/**
 * Checks a property and fails with its smallest counterexample. Properties assert with `node:assert`: an assertion of
 * `t` would end the test with the first counterexample, before it is made small.
 */
export const holds = <Values>(
  t: ExecutionContext,
  property: fc.IProperty<Values>,
  parameters: fc.Parameters<Values> = {},
): void => {
  report(t, fc.check(property, parameters))
}

/** `holds` for an asynchronous property. */
export const holdsAsync = async <Values>(
  t: ExecutionContext,
  property: fc.IAsyncProperty<Values>,
  parameters: fc.Parameters<Values> = {},
): Promise<void> => {
  report(t, await fc.check(property, parameters))
}

const report = <Values>(t: ExecutionContext, details: fc.RunDetails<Values>): void => {
  t.false(details.failed, fc.defaultReportMessage(details))
}
