/** The value itself, in which nothing can be changed any more. */
export const frozen = <A>(value: A): A => {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(frozen)
  return Object.freeze(value)
}
