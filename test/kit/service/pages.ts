import { having, type Managed } from '../network/http.js'
import type { Account } from './account.js'

/** The pages of a list of the management API, up to the last one; `path` has a query. */
export const pages = async (
  account: Account,
  path: string,
  name: 'timeline' | 'leads' | 'deliveries',
): Promise<ReadonlyArray<ReadonlyArray<Managed>>> => {
  const all: Array<ReadonlyArray<Managed>> = []
  let cursor = ''
  do {
    const answer = await account.manage('GET', path + cursor)
    all.push(having(answer, name))
    const next = answer.body.next_cursor ?? ''
    cursor = next === '' ? '' : `&cursor=${next}`
  } while (cursor !== '' && all.length < 100)
  return all
}
