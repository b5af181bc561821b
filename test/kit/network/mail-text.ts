/** The text of a message, whose encoding breaks long lines (RFC 2045, section 6.7). */
export const textOf = (message: string): string => {
  const body = message.slice(message.indexOf('\n\n') + 2)
  if (!/^Content-Transfer-Encoding: quoted-printable$/m.test(message)) return body
  return body
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
