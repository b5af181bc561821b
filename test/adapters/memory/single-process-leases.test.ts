import { aloneMembership } from '../../../adapters/memory/single-process-leases.js'
import { leasesContract } from '../../contracts/leases.js'

leasesContract('alone', () =>
  Promise.resolve({
    membership: aloneMembership(),
    pass: () => new Promise((resolve) => setImmediate(resolve)),
    close: () => Promise.resolve(),
  }),
)
