import type { Request } from './endpoint.js'

/** The token of `Authorization: Bearer <token>`. */
export const bearerOf = (request: Request): string | undefined =>
  /^Bearer +(\S+)$/i.exec(request.header('authorization') ?? '')?.[1]
