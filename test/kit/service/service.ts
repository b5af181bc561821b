import test from 'ava'
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compose } from '../../../app/composition/compose.js'
import { roles, type Config } from '../../../app/composition/config.js'
import { E } from '../../../domain/prelude.js'
import { send, sendJson, type Answer, type Body } from '../network/http.js'
import { lead, type Fields } from './leads.js'
import { removeStoresOf, storesOf } from '../stores/servers.js'

export const operatorKey = 'the-operator-key-of-the-http-tests'

export const bearer = (key: string): { readonly authorization: string } => ({ authorization: `Bearer ${key}` })

export const newDataDir = (): string => mkdtempSync(join(tmpdir(), 'leadloop-http-'))

/** The directory, and the stores that belong to it. */
export const removeDataDir = async (dataDir: string): Promise<void> => {
  rmSync(dataDir, { recursive: true, force: true })
  await removeStoresOf(dataDir)
}

export const configOf = (changed: Partial<Config> = {}): Config => ({
  host: '127.0.0.1',
  port: 0,
  publicUrl: undefined,
  dataDir: changed.dataDir ?? newDataDir(),
  operatorKey,
  secretKey: undefined,
  allowPrivateWebhooks: true,
  logLevel: 'silent',
  clockRate: 1,
  eventStoreUrl: undefined,
  mongoUrl: undefined,
  smtpUrl: undefined,
  roles: new Set(roles),
  ...changed,
})

export type InProcess = Site & { readonly stop: () => Promise<void> }

/** A service in this process. */
export const composed = async (config: Config): Promise<InProcess> => {
  const { EVENTSTORE_URL: eventStoreUrl, MONGODB_URL: mongoUrl } = await storesOf(config.dataDir)
  const service = await compose({ ...config, eventStoreUrl, mongoUrl })
  if (E.isLeft(service)) throw new Error(service.left)
  return { url: service.right.address, stop: service.right.stop }
}

/** Where a service answers. */
export type Site = { readonly url: string }

/** The service of a test file: it is there when the first test begins and stops when the last one has ended. */
export const serviceForFile = (changed: Partial<Config> = {}): Site => {
  const config = configOf(changed)
  let service: InProcess | undefined
  test.before(async () => {
    service = await composed(config)
  })
  test.after.always(async () => {
    await service?.stop()
    await removeDataDir(config.dataDir)
  })
  return {
    get url() {
      if (service === undefined) throw new Error('the service runs inside tests only')
      return service.url
    },
  }
}

/** The ids that the 200 of a submission gives. */
export type SubmittedIds = {
  readonly lead_id: string
  readonly contact_id: string
  readonly next_engagement_id: string
}

/** An account with one marketing source, and who may use it. */
export type Account = {
  readonly id: string
  readonly apiKey: string
  readonly playbookId: string
  readonly sourceId: string
  readonly postUrl: string
  /** A call of the REST API with the account's key; `path` follows `/api/v3`. */
  readonly rest: (path: string, body?: unknown) => Promise<Answer>
  /** A call of the management API; `path` follows `/manage/v1/accounts/{acc}`. */
  readonly manage: (method: string, path: string, body?: unknown) => Promise<Answer>
  readonly submit: (fields: Fields, headers?: Readonly<Record<string, string>>) => Promise<Answer>
  /** Submits a valid lead and gives its ids. */
  readonly submitted: (changed?: Fields) => Promise<SubmittedIds>
  readonly record: (conversionId: string, fields: Fields) => Promise<Answer>
  readonly find: (phone: string) => Promise<Answer>
  /** The ids of Quoted and Sold. */
  readonly standardConversions: () => Promise<{ readonly quoted: string; readonly sold: string }>
  readonly addSource: (fields?: Fields) => Promise<{ readonly id: string; readonly postUrl: string }>
  readonly addConversion: (title: string, value: number) => Promise<string>
  readonly addWebhook: (fields: Fields) => Promise<string>
  readonly report: (engagementId: string, type: string, label: string, more?: Fields) => Promise<Answer>
}

export const manage = ({ url }: Site, method: string, path: string, body?: unknown): Promise<Answer> =>
  body === undefined
    ? send(`${url}/manage/v1${path}`, { method, headers: bearer(operatorKey) })
    : sendJson(`${url}/manage/v1${path}`, method, body, bearer(operatorKey))

/** What an answer must have; a test that meets another answer fails with it. */
export const having = <Name extends keyof Required<Body>>(answer: Answer, name: Name): NonNullable<Body[Name]> => {
  const value = answer.body[name]
  if (value === undefined) throw new Error(`${answer.status} without ${name}: ${answer.text}`)
  return value
}

/** Opens an account of a test's own. */
export const openAccount = async (site: Site, title = 'Example Agency'): Promise<Account> => {
  const opened = await manage(site, 'POST', '/accounts', { title })
  const id = having(opened, 'account').id
  const playbookId = having(opened, 'playbook').id
  const inAccount: Account['manage'] = (method, path, body) => manage(site, method, `/accounts/${id}${path}`, body)
  const addSource: Account['addSource'] = async (fields = {}) => {
    const asked = { title: 'Search ads', playbook_id: playbookId, ...fields }
    const source = having(await inAccount('POST', '/marketing_sources', asked), 'marketing_source')
    return { id: source.id, postUrl: source.post_url }
  }
  const apiKey = having(opened, 'api_key') as string
  const rest: Account['rest'] = (path, body) =>
    body === undefined
      ? send(`${site.url}/api/v3${path}`, { headers: bearer(apiKey) })
      : sendJson(`${site.url}/api/v3${path}`, 'POST', body, bearer(apiKey))
  const { id: sourceId, postUrl } = await addSource()
  const submit: Account['submit'] = (fields, headers) => sendJson(postUrl, 'POST', fields, headers)

  return {
    id,
    apiKey,
    playbookId,
    sourceId,
    postUrl,
    rest,
    manage: inAccount,
    submit,
    submitted: async (changed) => idsOf(await submit(lead(changed))),
    record: (conversionId, fields) => rest(`/conversions/${conversionId}/events`, { conversion_contact: fields }),
    find: (phone) => rest(`/contacts/find?phone=${encodeURIComponent(phone)}`),
    standardConversions: async () => {
      const conversions = having(await rest('/conversions'), 'conversions')
      const idOf = (wanted: string): string => conversions.find(({ title: name }) => name === wanted)?.id ?? 'none'
      return { quoted: idOf('Quoted'), sold: idOf('Sold') }
    },
    addSource,
    addConversion: async (name, value) =>
      having(await inAccount('POST', '/conversions', { title: name, value }), 'conversion').id,
    addWebhook: async (fields) => having(await inAccount('POST', '/webhooks', fields), 'webhook').id,
    report: (engagementId, type, label, more = {}) =>
      inAccount('POST', `/engagements/${engagementId}/activities`, { type, label, ...more }),
  }
}

export const idsOf = (answer: Answer): SubmittedIds => ({
  lead_id: having(answer, 'lead_id'),
  contact_id: having(answer, 'contact_id'),
  next_engagement_id: having(answer, 'next_engagement_id'),
})

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

/** The service in a process of its own. */
export type Child = {
  readonly pid: number
  /** Where it listens; rejects with what it said when it ended before. */
  readonly listening: Promise<string>
  readonly exited: Promise<Exit>
  readonly isRunning: () => boolean
  /** What it wrote so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  readonly kill: (signal: NodeJS.Signals) => void
}

/** A service in a process of its own for a whole test file: what would bring it down fails the tests, not the runner. */
export const childForFile = (environment: Readonly<Record<string, string>> = {}): Site & { readonly child: Child } => {
  const dataDir = newDataDir()
  let running: { readonly url: string; readonly child: Child } | undefined
  const opened = (): { readonly url: string; readonly child: Child } => {
    if (running === undefined) throw new Error('the service runs inside tests only')
    return running
  }
  test.before(async () => {
    const child = startChild({ ...childEnvironment(dataDir), ...(await storesOf(dataDir)), ...environment })
    running = { child, url: await child.listening }
  })
  test.after.always(async () => {
    running?.child.kill('SIGKILL')
    await running?.child.exited
    await removeDataDir(dataDir)
  })
  return {
    get url() {
      return opened().url
    },
    get child() {
      return opened().child
    },
  }
}

export const childEnvironment = (dataDir: string): Readonly<Record<string, string>> => ({
  DATA_DIR: dataDir,
  OPERATOR_KEY: operatorKey,
  ALLOW_PRIVATE_WEBHOOKS: 'true',
  LOG_LEVEL: 'error',
})

const main = fileURLToPath(new URL('../../../app/main.js', import.meta.url))

const children = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/** Starts `node dist/app/main.js` with this environment and no other, on a free port. */
export const startChild = (environment: Readonly<Record<string, string>>): Child => {
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { HOST: '127.0.0.1', PORT: '0', ...environment },
  })
  children.add(child)
  let stdout = ''
  let stderr = ''
  let isRunning = true
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      isRunning = false
      children.delete(child)
      resolve({ code, signal })
    })
  })
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const listening = new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
      const address = /listens at (http:\S+?)[.,]?\s/.exec(stderr)?.[1]
      if (address !== undefined) resolve(address)
    })
    child.once('close', () => {
      reject(new Error(`the service ended: ${stderr}`))
    })
  })
  // A start that is meant to fail is not waited for.
  listening.catch(() => undefined)
  return {
    pid: child.pid ?? Number.NaN,
    listening,
    exited,
    isRunning: () => isRunning,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => {
      child.kill(signal)
    },
  }
}
