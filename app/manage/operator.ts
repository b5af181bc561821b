import { createHash, timingSafeEqual } from 'node:crypto'
import { E } from '../../domain/prelude.js'
import { bearerOf, type Surface } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import { chain } from '../http/steps.js'

/** Who holds the operator key: sees every account. */
export type Operator = { readonly actor: 'operator' }

const wrongKey: Problem = { kind: 'forbidden', message: 'the operator key is missing or wrong' }

export const operatorOf = (operatorKey: string): Surface<Operator>['authenticate'] =>
  chain(({ request }) => {
    const isOperator = timingSafeEqual(digest(bearerOf(request) ?? ''), digest(operatorKey))
    return isOperator ? E.right({ actor: 'operator' }) : E.left(wrongKey)
  })

/** Digests have one length, so that comparing them tells nothing about the key's. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
