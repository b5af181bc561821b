import type { Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'
import { exportTables } from './export-files.js'
import type { ExportRequest } from './export-request.js'
import { readingLog } from './log.js'

/** Writes the tables that were asked for. Left: one sentence that says why it stopped. */
export const exportTo = (config: Config, request: ExportRequest): Promise<Either<string, undefined>> =>
  readingLog(config, (log, { signal, onPosition }) => exportTables(log, request, signal, onPosition), {
    isBackground: true,
  })
