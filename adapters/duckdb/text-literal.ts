/** A text as SQL writes it, where no parameter may stand. */
export const textLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`
