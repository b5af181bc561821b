import type { Context } from 'koa'
import type { Request } from '../endpoint.js'

/** The request as it is before its body is read. */
export const requestOf = (ctx: Context): Request => {
  let parsed: URLSearchParams | undefined
  // The time that `ctx.query` takes grows with the square of their number.
  const parameters = (): URLSearchParams => (parsed ??= new URLSearchParams(ctx.querystring))
  return {
    method: ctx.method,
    params: ctx['params'] as Readonly<Record<string, string>>,
    query: (name) => {
      const [value, ...others] = parameters().getAll(name)
      return others.length === 0 ? value : ''
    },
    queryNames: () => [...parameters().keys()],
    header: (name) => {
      const value = ctx.req.headers[name]
      return typeof value === 'string' ? value : undefined
    },
    body: undefined,
  }
}

/** What Koa, its router and the platform throw for a target that is no path. */
export const isMalformedTarget = (error: unknown): boolean => {
  const { status, code, message } = error as Readonly<Record<string, unknown>>
  // Of Node 26 on, for one whose port or brackets are wrong.
  const isNoUrl = code === 'ERR_INVALID_ARG_VALUE' && String(message).startsWith("The argument 'url'")
  return error instanceof URIError || status === 400 || code === 'ERR_INVALID_URL' || isNoUrl
}
