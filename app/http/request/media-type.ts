import type { IncomingHttpHeaders } from 'node:http'
import type { Request } from '../endpoint.js'

/** A media type with well-formed parameters. */
const mediaType = /^([\w.+-]+\/[\w.+-]+)(?:\s*;\s*[\w.+-]+\s*=\s*(?:[\w!#$%&'*+.^`|~-]+|"[^"\\]*"))*\s*;?$/

const mediaTypeOf = (contentType = ''): string | undefined => mediaType.exec(contentType.trim())?.[1]?.toLowerCase()

export const mediaTypeIn = (headers: IncomingHttpHeaders): string | undefined => mediaTypeOf(headers['content-type'])

export const formType = 'application/x-www-form-urlencoded'

export const isForm = ({ header }: Pick<Request, 'header'>): boolean => mediaTypeOf(header('content-type')) === formType
