import { Command } from 'commander'
import { Asker } from '../../../domain/erasure.js'
import { AccountId, ContactId } from '../../../domain/ids.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'
import { idIn } from '../arguments.js'
import { run } from '../run.js'
import { answered, calling } from './calling.js'
import type { Call } from './service-call.js'

export const eraseCommand = new Command('erase')
  .exitOverride()
  .description('remove a person: whatever is known of a contact, everywhere')
  .argument('<account>', 'such as acc_…', idIn(AccountId))
  .argument('<contact>', 'such as nct_…', idIn(ContactId))
  .requiredOption('--by <who>', 'the id of whoever asks for it: no name and no e-mail address', idIn(Asker))
  .addHelpText(
    'after',
    '\nPrints what was told to which webhooks, and the deliveries that were dropped. It may be repeated.' +
      '\n\nExample:\n  $ npx leadloop erase acc_… nct_… --by ticket-4711',
  )
  .action((account: AccountId, contact: ContactId, { by }: { readonly by: string }) =>
    run('erase', (config) => calling(config, withoutPosting, (call) => callErase(call, account, contact, by))),
  )

/** What is due to the person must not be posted first. */
const withoutPosting: Config['roles'] = new Set(['api', 'projector'])

/** In milliseconds: how long it waits for the end of what goes on by itself. */
const longestWait = 60_000
const pause = 500

const callErase = async (
  call: Call,
  account: AccountId,
  contact: ContactId,
  by: string,
): Promise<Either<string, undefined>> => {
  for (let waited = 0; ; waited += pause) {
    const answer = await answered(call, 'POST', `/accounts/${account}/contacts/${contact}/erase`, { by })
    if (E.isLeft(answer)) return answer
    if (answer.right['erased'] === true || waited > longestWait) {
      process.stdout.write(`${JSON.stringify(answer.right)}\n`)
      return answer.right['erased'] === true
        ? E.right(undefined)
        : E.left('It is not at its end: it goes on by itself, and this command may be repeated.')
    }
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
