import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { leasesContract } from '../../contracts/leases.js'
import { nextTurn } from '../../kit/time/turns.js'

leasesContract('alone', () =>
  Promise.resolve({
    membership: singleProcessMembership(),
    advance: nextTurn,
    close: () => Promise.resolve(),
  }),
)
