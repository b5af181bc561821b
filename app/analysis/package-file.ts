import { readFileSync } from 'node:fs'

/** What a file of this package holds. Compiled sources lie one folder deeper than the others: in `dist`. */
export const packageFile = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
