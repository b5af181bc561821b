/** A stream is called `category-id`; the category is that of the decider which alone writes to it. */
export const streamOf = (decider: { readonly category: string }, id: string): string => `${decider.category}-${id}`

/** The id in the name of a stream of this decider; undefined where the stream is of another category. */
export const idIn = ({ category }: { readonly category: string }, stream: string): string | undefined =>
  stream.startsWith(category) && stream.charAt(category.length) === '-' ? stream.slice(category.length + 1) : undefined

/** The parts of the name of any stream. */
export const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'))
export const idOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1)
