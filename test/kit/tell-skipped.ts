/** After `npm test`: what was left out for want of a server, and what would bring it in. */
const needs: ReadonlyArray<readonly [setting: string, what: string]> = [
  ['MONGODB_URL', 'documents and leases on MongoDB, and the faults of servers'],
  ['EVENTSTORE_URL', 'the contract of the event store on a real EventStoreDB (its double was there)'],
  ['TEST_STORES', 'the end-to-end and crash tests on servers (TEST_STORES=servers, with MONGODB_URL)'],
]

for (const [setting, what] of needs) {
  if (process.env[setting] === undefined) process.stdout.write(`Skipped, since ${setting} is not set: ${what}.\n`)
}
