import type { Logger } from '../../../domain/ports.js'

const nothing = (): void => undefined

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }
