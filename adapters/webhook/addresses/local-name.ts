/** Domains that no public name server answers for. */
const localDomains = ['localhost', 'local', 'internal', 'home.arpa', 'onion']

/** Whether a host name means something on this machine or its network only. */
export const isLocalName = (name: string): boolean =>
  !name.includes('.') || localDomains.some((domain) => `.${name}`.endsWith(`.${domain}`))
