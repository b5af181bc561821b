/**
 * The URL that a text is, if it is one of http or https. Not by `URL.canParse`: that of Node 20 refuses a host with
 * letters beyond ASCII once its fast path was compiled.
 */
export const webAddressFromText = (text: string): URL | undefined => {
  const url = urlFromText(text)
  return url !== undefined && ['http:', 'https:'].includes(url.protocol) ? url : undefined
}

/** The host of a URL, an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

/** `example.com.` names the same host as `example.com`. */
export const withoutFinalDot = (host: string): string => host.replace(/\.+$/, '')

export const urlFromText = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
