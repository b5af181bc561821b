import { behaviourOf } from './behaviour.js'
import { documentChanges } from './document-changes.js'
import type { OpenDocuments } from './document-fixtures.js'
import { documentGenerations } from './document-generations.js'
import { documentQueries } from './document-queries.js'

/** What every `Documents` does (projections/ports.ts). */
export const documentsContract = (name: string, open: () => Promise<OpenDocuments>): void => {
  const behaviour = behaviourOf(name, open)
  documentGenerations(behaviour)
  documentChanges(behaviour)
  documentQueries(behaviour)
}
