import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { leasesContract } from '../../contracts/leases.js'

leasesContract('alone', () =>
  Promise.resolve({
    membership: singleProcessMembership(),
    advance: () => new Promise((resolve) => setImmediate(resolve)),
    close: () => Promise.resolve(),
  }),
)
