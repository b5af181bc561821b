import { objectWith, optional, refined, t } from '../../../domain/codec.js'
import { E, flow, pipe, TE } from '../../../domain/prelude.js'
import { readModels } from '../../../projections/read-models/registry.js'
import type { Rebuilds } from '../../../projections/subscriptions/online-rebuilds.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, withBody } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const names = readModels.map(({ name }) => name)

const ReadModelName = refined(
  `one of ${names.join(', ')}`,
  (value): value is string => typeof value === 'string' && names.includes(value),
)

const RebuildRequest = objectWith({ read_models: optional(t.readonlyArray(ReadModelName, 'a list of read models')) })

/** Read models that are built anew while they are served. */
export const rebuildEndpoints = ({ rebuilds }: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/rebuilds',
    handle: flow(
      withBody(RebuildRequest),
      bind('begun', ({ body }) => begun(rebuilds, body.read_models ?? names)),
      answer(202, ({ begun }) => ({ rebuilds: begun })),
    ),
  },
  {
    method: 'GET',
    path: '/rebuilds',
    handle: flow(
      bind('begun', () => TE.fromTask(rebuilds.all)),
      answer(200, ({ begun }) => ({ rebuilds: begun })),
    ),
  },
]

const begun = (rebuilds: Rebuilds, wanted: ReadonlyArray<string>) =>
  pipe(
    rebuilds.begin(wanted),
    E.mapLeft((elsewhere): Problem => ({ kind: 'read-models-elsewhere', names: elsewhere })),
  )
