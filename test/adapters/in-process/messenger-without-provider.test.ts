import { messengerWithoutProvider } from '../../../adapters/in-process/messenger-without-provider.js'
import { messengerContract } from '../../contracts/messenger.js'

messengerContract('no provider', () =>
  Promise.resolve({ messenger: messengerWithoutProvider, close: () => Promise.resolve() }),
)
