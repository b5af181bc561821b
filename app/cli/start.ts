import { resolve } from 'node:path'
import { E } from '../../domain/prelude.js'
import { compose, type Service } from '../composition/compose.js'
import { configFrom, type Config } from '../composition/config.js'
import { traceOf } from '../http/trace.js'
import { welcome } from './welcome.js'

/** For people: standard output holds the JSON log and nothing else. */
const say = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

const refuse = (sentences: ReadonlyArray<string>): void => {
  for (const sentence of sentences) say(`leadloop can't start. ${sentence}`)
  process.exit(1)
}

const serve = (service: Service, config: Config): void => {
  say(welcome(service, { ...config, dataDir: resolve(config.dataDir) }))
  void service.firstAccount?.shown()
}

/**
 * An unexpected error ends the process: what was acknowledged is on the disk, and the next start goes on from there.
 */
const die = (error: unknown): void => {
  process.stdout.write(
    `${JSON.stringify({ level: 60, ...traceOf(error), msg: 'leadloop ends: an unexpected error' })}\n`,
  )
  process.exit(1)
}

/** The service, until SIGTERM or SIGINT stops it. */
export const start = async (): Promise<void> => {
  /** At once before it has begun, since there is nothing to give back yet. */
  let stop: Service['stop'] = () => Promise.resolve()
  const stopping = new AbortController()
  const stopOnce = (): void => {
    stopping.abort()
    void stop().then(() => {
      process.exit(0)
    })
  }
  // Not once: a terminal, and systemd, tell all processes of a group, and npm passes the one that it got on.
  process.on('SIGTERM', stopOnce)
  process.on('SIGINT', stopOnce)
  process.on('uncaughtException', die)
  process.on('unhandledRejection', die)

  const config = configFrom(process.env)
  if (E.isLeft(config)) {
    refuse(config.left)
    return
  }
  const service = await compose(config.right, (stopService) => (stop = stopService))
  // What comes of a start that is being stopped matters to nobody: the process ends when all is given back.
  if (stopping.signal.aborted) await stop()
  else if (E.isLeft(service)) refuse([service.left])
  else serve(service.right, config.right)
}
