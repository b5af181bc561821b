/** The MongoDB to run against; undefined where none was given, and the tests that need one are skipped. */
export const mongoUrl = process.env['MONGODB_URL']

/** Where the one server listens. */
export const hostOf = (url: string): { readonly host: string; readonly port: number } => {
  const [, host = '', port = '27017'] = /^[^:]+:\/\/(?:[^@/]*@)?([^:/?]+):?(\d+)?/.exec(url) ?? []
  return { host, port: Number(port) }
}

/** The same database at another port of this machine, and nowhere else. */
export const urlAt = (url: string, port: number): string =>
  urlWith(url.replace(/^([^:]+:\/\/(?:[^@/]*@)?)[^/?]+/, `$1127.0.0.1:${port}`), { option: 'directConnection=true' })

type Changes = { readonly database?: string; readonly option?: string }

/** With another database users are still looked up where they were. */
export const urlWith = (url: string, { database, option }: Changes): string => {
  const [, server = '', path = '', query = ''] = /^([^:]+:\/\/[^/?]+)\/?([^?]*)\??(.*)$/.exec(url) ?? []
  const source = path === '' || database === undefined || query.includes('authSource=') ? [] : [`authSource=${path}`]
  const options = [query, ...source, option ?? ''].filter((one) => one !== '')
  return `${server}/${database ?? path}?${options.join('&')}`
}
