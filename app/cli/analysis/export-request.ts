import type { Instant } from '../../../domain/instant.js'
import type { TableName } from '../../analysis/tables/tidy-tables.js'

export const exportFormats = ['csv', 'parquet', 'duckdb'] as const
export type ExportFormat = (typeof exportFormats)[number]

export type ExportRequest = {
  readonly folder: string
  readonly format: ExportFormat
  readonly tables: ReadonlyArray<TableName>
  /** What was recorded up to and at this time; all where it is undefined. */
  readonly asOf: Instant | undefined
  readonly isPersonalShown: boolean
  /** Goes on where the last export into this folder ended. */
  readonly isContinued: boolean
}
