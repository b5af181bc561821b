import test from 'ava'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { secretKeyFile, secretsFor } from '../../../../app/composition/start/secrets.js'
import { E } from '../../../../domain/prelude.js'
import { temporaryDirectory } from '../../../kit/temporary-directory.js'

test('a secret-key file with anything but one key is refused, so nothing is sealed with half of it', (t) => {
  const dataDir = temporaryDirectory(t)
  const keys = { dataDir, secretKey: undefined, operatorKey: 'sixteen-letters!' }
  const [one, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')]
  for (const content of [`${one}\n`, `${other}\r\n`, other]) {
    writeFileSync(secretKeyFile({ dataDir }), content)
    t.true(E.isRight(secretsFor(keys, undefined)), content)
  }
  for (const content of ['', `${one}${one}`, `${one}\n${other}\n`, `SECRET_KEY=${one}`, `"${one}"`]) {
    writeFileSync(join(dataDir, 'secret-key'), content)
    t.deepEqual(
      secretsFor(keys, undefined),
      E.left('SECRET_KEY: the file secret-key must hold 32 bytes in base64 and nothing else.'),
      content,
    )
  }
})
