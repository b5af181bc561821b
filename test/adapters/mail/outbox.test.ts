import test from 'ava'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { outboxMail } from '../../../adapters/mail/outbox.js'
import { mailContract, mailOf } from '../../contracts/mail.js'
import { noticeId } from '../../kit/domain/samples.js'
import { openTemporaryDirectory } from '../../kit/temporary-directory.js'

const opened = () => {
  const { path, remove } = openTemporaryDirectory()
  const directory = join(path, 'outbox')
  return { directory, transport: outboxMail(directory, 'leadloop@example.com'), close: remove }
}

mailContract('outbox', () => {
  const { directory, ...rest } = opened()
  const arrived = async () => {
    const files = await readdir(directory).catch(() => [])
    return Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')))
  }
  return Promise.resolve({ ...rest, arrived })
})

test('each mail is one file under its id, for its owner alone, and a repeat replaces it', async (t) => {
  const { directory, transport, close } = opened()
  await transport.send(mailOf())
  await transport.send(mailOf())
  t.deepEqual(await readdir(directory), [`${noticeId()}.eml`])
  t.is((await stat(join(directory, `${noticeId()}.eml`))).mode & 0o777, 0o600)
  t.is((await stat(directory)).mode & 0o777, 0o700)
  await close()
})

test('a file that a crash left half written is replaced', async (t) => {
  const { directory, transport, close } = opened()
  await mkdir(directory)
  await writeFile(join(directory, `${noticeId()}.eml.new`), 'half')
  t.is(await transport.send(mailOf()), 'sent')
  t.deepEqual(await readdir(directory), [`${noticeId()}.eml`])
  await close()
})

test('a mail fails where the outbox can not be written, and no path is told', async (t) => {
  const { directory, transport, close } = opened()
  await writeFile(directory, 'a file where the folder should be')
  t.deepEqual(await transport.send(mailOf()), { kind: 'failed', reason: 'the outbox could not be written' })
  await close()
})
