import { errorCodeOf } from '../node/error-code.js'
import { ForbiddenAddress } from './addresses/forbidden-address.js'

export const noConnection = 'no connection within 3 s'
export const noResponse = 'no response within 3 s'
export const noStatus = 'no status within 16 kB'

/** Why no status came. Of an error only its code is told. */
export const noStatusReason = (error: unknown, isSecuring: boolean): string => {
  const code = errorCodeOf(error)
  if (code === undefined) return 'no response'
  if (code === ForbiddenAddress.code) return 'the address is not public'
  if (code === 'HPE_HEADER_OVERFLOW') return noStatus
  if (code.startsWith('HPE_')) return `no valid response (${code})`
  return `${isSecuring ? 'no secure connection' : 'no response'} (${code})`
}
