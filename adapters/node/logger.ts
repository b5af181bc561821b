import { pino } from 'pino'
import type { Logger } from '../../domain/ports.js'

/** JSON lines on standard output. Callers pass ids, counts and reasons only. */
export const jsonLogger = (level: string): Logger => {
  const logger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime })
  return {
    debug: (fields, message) => {
      logger.debug(fields, message)
    },
    info: (fields, message) => {
      logger.info(fields, message)
    },
    warn: (fields, message) => {
      logger.warn(fields, message)
    },
    error: (fields, message) => {
      logger.error(fields, message)
    },
  }
}
