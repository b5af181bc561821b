import type { Logger } from '../../../domain/ports.js'

export type LogLine = {
  readonly level: keyof Logger
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

type RecordingLogger = Logger & { readonly lines: ReadonlyArray<LogLine> }

/** A logger that records its lines; `look` sees each of them before the code that logs it goes on. */
export const recordingLogger = (look: (line: LogLine) => void = () => undefined): RecordingLogger => {
  const lines: Array<LogLine> = []
  const at =
    (level: keyof Logger): Logger[keyof Logger] =>
    (fields, message) => {
      lines.push({ level, fields, message })
      look({ level, fields, message })
    }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
