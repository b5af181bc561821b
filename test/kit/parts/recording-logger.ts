import type { Logger } from '../../../domain/ports.js'

export type LogLine = {
  readonly level: keyof Logger
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A logger, and what it was told. */
export const recordingLogger = (): { readonly logger: Logger; readonly lines: ReadonlyArray<LogLine> } => {
  const lines: Array<LogLine> = []
  const at =
    (level: keyof Logger): Logger[keyof Logger] =>
    (fields, message) =>
      void lines.push({ level, fields, message })
  return { logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, lines }
}
