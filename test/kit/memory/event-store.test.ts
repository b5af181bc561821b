import { eventStoreContract } from '../../contracts/event-store.js'
import { memoryEventStore, memoryLog } from './event-store.js'

eventStoreContract('memory', () => {
  const log = memoryLog()
  return Promise.resolve({
    store: memoryEventStore(log),
    reopen: () => Promise.resolve(memoryEventStore(log)),
    close: () => Promise.resolve(),
  })
})
