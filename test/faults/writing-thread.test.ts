import test from 'ava'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openAccount } from '../kit/service/account.js'
import { lead } from '../kit/service/leads.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { addressOf, isRefused, startService } from '../kit/service/service-process.js'
import { bearer, send, sendJson } from '../kit/network/http.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { endingAt, endingSteps } from './ending-writer.js'

for (const step of endingSteps.filter((one) => one !== 'opening the file')) {
  test(`where the writing thread ends ${step}, the process ends with one line and can be started again`, async (t) => {
    const directory = temporaryDirectory(t)
    const armed = join(directory, 'armed')
    const service = startService(t, directory, endingAt(step, armed))
    const account = await openAccount({ url: await addressOf(service) })
    const accepted = await account.submitted()
    writeFileSync(armed, '')
    // It may be answered, or the connection is lost: nobody was told that it was stored.
    const post = () =>
      sendJson(account.postUrl, 'POST', lead()).then(
        ({ status }) => status,
        () => undefined,
      )
    // A thread that waits ends by itself, and could have stored a lead before; to every other step a lead brings it.
    const answered = step === 'waiting for writes' ? service.exited.then(post) : post()
    t.deepEqual(await service.exited, { code: 1, signal: null })
    t.not(await answered, 200)
    const [line, ...more] = service.logged()
    t.deepEqual(more, [])
    t.like(line, { level: 60, error: 'WritingThreadEnded', msg: 'leadloop ends: an unexpected error' })
    t.false((service.stdout() + service.stderr()).includes('a value of a person'))

    const { url } = await serviceFor(t, directory)
    t.is((await sendJson(url + new URL(account.postUrl).pathname, 'POST', lead())).status, 200)
    const contact = await send(`${url}/api/v3/contacts/${accepted.contact_id}`, { headers: bearer(account.apiKey) })
    t.is(contact.status, 200, 'what was accepted is there')
  })
}

test('where the writing thread ends opening the file, the start is refused', async (t) => {
  const directory = temporaryDirectory(t)
  const armed = join(directory, 'armed')
  writeFileSync(armed, '')
  await isRefused(t, startService(t, directory, endingAt('opening the file', armed)), /DATA_DIR: .* can't be used/)
})
