import { constants, setPriority } from 'node:os'
import type { Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'
import { exportTables } from './export-files.js'
import type { ExportRequest } from './export-request.js'
import { readingLog } from './log.js'

/** Writes the tables that were asked for. Left: one sentence that says why it stopped. */
export const exportTo = (config: Config, request: ExportRequest): Promise<Either<string, undefined>> => {
  // A service on this machine must not be slowed.
  setPriority(constants.priority.PRIORITY_LOW)
  return readingLog(config, (log, { signal, onPosition }) => exportTables(log, request, signal, onPosition))
}
