import { appendAllContract } from '../../contracts/append-all.js'
import { eventStoreContract } from '../../contracts/event-store.js'
import { memoryAppendAll, memoryEventStore, memoryLog } from './event-store.js'

eventStoreContract('memory', () => {
  const log = memoryLog()
  return Promise.resolve({
    store: memoryEventStore(log),
    reopen: () => Promise.resolve(memoryEventStore(log)),
    close: () => Promise.resolve(),
  })
})

appendAllContract('memory', () => {
  const log = memoryLog()
  return Promise.resolve({
    store: memoryEventStore(log),
    appendAll: memoryAppendAll(log),
    reopen: () => Promise.resolve(memoryEventStore(log)),
    close: () => Promise.resolve(),
  })
})
