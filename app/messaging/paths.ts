import type { TextProvider } from '../../domain/text-provider.js'

type Named = Pick<TextProvider, 'name'>

/** What stands in front of the paths that the provider of texts posts to. */
export const prefixOf = ({ name }: Named): string => `/messaging/${name}`

/** Where the provider reports what became of a text, below the public URL. */
export const reportPathOf = (provider: Named, messageId: string): string => `${prefixOf(provider)}/status/${messageId}`

/** Where the provider posts what contacts write, below the public URL. */
export const inboundPathOf = (provider: Named): string => `${prefixOf(provider)}/inbound`
