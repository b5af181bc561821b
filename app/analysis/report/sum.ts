export const sumOf = (values: ReadonlyArray<bigint>): bigint => values.reduce((sum, value) => sum + value, 0n)
