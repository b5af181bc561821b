import test from 'ava'
import { parse } from 'csv-parse/sync'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportTables } from '../../../app/cli/analysis/export-files.js'
import type { ExportRequest } from '../../../app/cli/analysis/export-request.js'
import { neverAborted } from '../../../domain/abortable.js'
import { E } from '../../../domain/prelude.js'
import type { RemarkEvent } from '../../../domain/remark.js'
import { logOf } from '../../kit/domain/log.js'
import { writeHistory } from '../../kit/domain/lively-history.js'
import { accountId, activity, at, contactId, engagementId } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

const concerned = { engagement_id: engagementId(), account_id: accountId(), contact_id: contactId() }
const inRemarks = (event: RemarkEvent) => [`remark-${engagementId()}`, event] as const
const made = (n: number) =>
  inRemarks({ type: 'RemarkMade', data: { ...concerned, note: `Note ${n}`, properties: { n } } })
const recorded = (remark: number | undefined) => {
  const told = remark === undefined ? { activity: activity() } : { activity: activity({ note: null }), remark }
  return [`engagement-${engagementId()}`, { type: 'ActivityRecorded', data: { ...told, record_id: null } }] as const
}

/** The second remark belongs to nothing: its report broke off. */
const history = logOf(
  recorded(undefined),
  made(0),
  recorded(0),
  made(1),
  made(2),
  recorded(2),
  inRemarks({ type: 'RemarksErased', data: concerned }),
)

const asked: Omit<ExportRequest, 'folder'> = {
  format: 'csv',
  tables: ['activities'],
  asOf: undefined,
  isPersonalShown: true,
  isContinued: true,
}

const said = (folder: string): ReadonlyArray<readonly [note: string, properties: string]> =>
  (
    parse(readFileSync(join(folder, 'activities.csv'), 'utf8'), { columns: true }) as ReadonlyArray<{
      activity_id: string
      note: string
      properties: string
    }>
  )
    .toSorted((one, other) => (one.activity_id < other.activity_id ? -1 : 1))
    .map(({ note, properties }) => [note, properties])

test('an export tells what was said of activities, and once that is erased of no moment any more', async (t) => {
  const store = await writeHistory(memoryEventStore(memoryLog()), history.slice(0, -1))
  const folder = temporaryDirectory(t)
  const exported = async (changed: Partial<ExportRequest> = {}) => {
    t.deepEqual(await exportTables(store, { ...asked, folder, ...changed }, neverAborted), E.right(undefined))
    return said(folder)
  }
  const before = [
    ['The playbook started', '{}'],
    ['Note 0', '{"n":0}'],
    ['Note 2', '{"n":2}'],
  ]
  t.deepEqual(await exported(), before)
  t.deepEqual(await exported({ asOf: at(3000) }), before.slice(0, 2))

  await writeHistory(store, history.slice(-1))
  const after = [before[0], ['', '{}'], ['', '{}']]
  t.deepEqual(await exported(), after)
  t.deepEqual(await exported({ asOf: at(6000) }), after)
  t.deepEqual(await exported({ isContinued: false }), after)
})
