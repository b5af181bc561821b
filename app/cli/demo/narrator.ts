import { STATUS_CODES } from 'node:http'

/**
 * Tells a story of HTTP on the terminal: headings, requests and answers, in few words and with shortened ids and keys.
 */
export type Narrator = {
  readonly heading: (text: string) => void
  readonly say: (text: string) => void
  readonly request: (method: string, url: string, headers: Readonly<Record<string, string>>, body: unknown) => void
  readonly answer: (status: number, body: unknown) => void
  readonly table: (rows: ReadonlyArray<ReadonlyArray<string>>) => void
}

type Colour = 'bold' | 'dim' | 'cyan' | 'green' | 'yellow'

const codes: Readonly<Record<Colour, number>> = { bold: 1, dim: 2, cyan: 36, green: 32, yellow: 33 }

const margin = '   '

/** Where an object no longer fits into one line. */
const width = 100

export const narrator = (write: (text: string) => void, hasColours: boolean): Narrator => {
  const paint = (colour: Colour, text: string): string =>
    hasColours ? `\u001b[${codes[colour]}m${text}\u001b[0m` : text
  const line = (text: string): void => {
    write(text === '' ? '\n' : `${margin}${text}\n`)
  }
  const json = (body: unknown): void => {
    if (body === undefined) return
    for (const part of shortened(pretty(fewer(body), '')).split('\n')) line(`  ${part}`)
  }
  let step = 0

  return {
    heading: (text) => {
      step += 1
      write(`\n${paint('bold', `${step.toString().padStart(2)}. ${text}`)}\n`)
    },
    say: line,
    request: (method, url, headers, body) => {
      line(`${paint('cyan', '->')} ${paint('bold', method)} ${shortened(url)}`)
      for (const [name, value] of Object.entries(headers)) line(paint('dim', `  ${name}: ${shortened(value)}`))
      json(body)
    },
    answer: (status, body) => {
      line(
        `${paint('cyan', '<-')} ${paint(status < 300 ? 'green' : 'yellow', `${status} ${STATUS_CODES[status] ?? ''}`)}`,
      )
      json(body)
    },
    table: (rows) => {
      const widths = (rows[0] ?? []).map((_, column) =>
        Math.max(...rows.map((row) => shortened(row[column] ?? '').length)),
      )
      for (const row of rows)
        line(
          `  ${row
            .map((cell, column) => shortened(cell).padEnd(widths[column] ?? 0))
            .join('  ')
            .trimEnd()}`,
        )
    },
  }
}

/** An id and a signing secret by the prefix and the last four letters, a key by its first and last four. */
const shortened = (text: string): string =>
  text
    .replaceAll(/\b(whsec_)[\w+/=-]*([\w+/=-]{4})/g, '$1…$2')
    .replaceAll(/\b([a-z]{3}_)[0-9A-Z]{22}([0-9A-Z]{4})/g, '$1…$2')
    .replaceAll(/(?<![\w-])([\w-]{4})[\w-]{35}([\w-]{4})(?![\w-])/g, '$1…$2')

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** Of a long object the first fields, of a list of objects the first two. */
const fewer = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const items = value as ReadonlyArray<unknown>
    const most = items.some(isObject) ? 2 : items.length
    const rest = items.length - most
    return [...items.slice(0, most).map(fewer), ...(rest > 0 ? [`… ${rest} more`] : [])]
  }
  if (!isObject(value)) return value
  const fields = Object.entries(value)
  const most = fields.length > 9 ? 5 : fields.length
  const rest = fields.length - most
  const shown = fields.slice(0, most).map(([name, field]) => [name, fewer(field)] as const)
  return Object.fromEntries(rest > 0 ? [...shown, ['…', `${rest} more`]] : shown)
}

/** JSON in one line where it fits, else a line for each part. */
const pretty = (value: unknown, indent: string): string => {
  if (!isObject(value)) return JSON.stringify(value)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const deeper = `${indent}  `
  const part = (name: string, field: unknown, at: string): string =>
    Array.isArray(value) ? pretty(field, at) : `${JSON.stringify(name)}: ${pretty(field, at)}`
  const fields = Object.entries(value)
  if (fields.length === 0) return open + close
  const inline = `${open} ${fields.map(([name, field]) => part(name, field, '')).join(', ')} ${close}`
  if (!inline.includes('\n') && shortened(inline).length + indent.length <= width) return inline
  return `${open}\n${fields.map(([name, field]) => deeper + part(name, field, deeper)).join(',\n')}\n${indent}${close}`
}
