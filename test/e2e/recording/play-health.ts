import type { Stage } from './stage.js'

const targets = [
  ['GET', '/health/live'],
  ['HEAD', '/health/live'],
  ['GET', '/health/live?x=y'],
  ['GET', '/health/live/'],
  ['POST', '/health/live'],
  ['OPTIONS', '/health/live'],
  ['DELETE', '/health/ready'],
  ['GET', '/health'],
  ['GET', '/health/nothing'],
  ['POST', '/metrics'],
  ['GET', '/'],
  ['POST', '/'],
  ['GET', '/nothing'],
  ['GET', '/%'],
  ['GET', '/%E0%A4%A'],
  ['GET', '//'],
  ['GET', '/?%E0%A4%A'],
] as const

/** Whether the process lives, and what there is beside the surfaces. */
export const playHealth = async ({ main, recorder }: Stage): Promise<void> => {
  for (const [method, path] of targets) await recorder.ask(`health: ${method} ${path}`, main.url + path, { method })
}
