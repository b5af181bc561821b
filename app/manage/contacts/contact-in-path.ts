import { ContactId } from '../../../domain/ids.js'
import { flow } from '../../../domain/prelude.js'
import type { HasRequest } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { bindOr, pathId } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { ManagePorts } from '../ports.js'

export const contactNotFound: Problem = { kind: 'contact-not-found' }

/** Adds the `account` and its `contact` that the path names. */
export const withContact = <Context extends HasRequest>(ports: Pick<ManagePorts, 'commandHandler' | 'queries'>) =>
  flow(
    withAccount<Context>(ports),
    pathId('contact_id', ContactId, contactNotFound),
    bindOr(
      'contact',
      ({ account, contact_id }) => ports.queries.contactById(account.accountId, contact_id),
      contactNotFound,
    ),
  )
