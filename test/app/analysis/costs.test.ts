import test from 'ava'
import { costsFrom } from '../../../app/analysis/attribution/costs.js'
import { E } from '../../../domain/prelude.js'

const [a, b] = [`mks_${'A'.repeat(26)}`, `mks_${'B'.repeat(26)}`]
const header = 'source_id,from,to,cost_per_lead\n'

test('costs are read with open ends, quotes and the line ends of a spreadsheet', (t) => {
  const text = `\uFEFF${header.trim()}\r\n${a},,2026-02-01,1250\r\n"${a}","2026-02-01T00:00:00Z",,0\r\n\r\n${b},,,7`
  t.deepEqual(
    costsFrom(text),
    E.right([
      { sourceId: a, to: '2026-02-01T00:00:00.000Z', cents: 1250 },
      { sourceId: a, from: '2026-02-01T00:00:00.000Z', cents: 0 },
      { sourceId: b, cents: 7 },
    ]),
  )
})

test('a wrong line is named with its field', (t) => {
  for (const [text, sentence] of [
    ['', 'line 1: the header must be source_id,from,to,cost_per_lead'],
    ['source_id,cost_per_lead\n', 'line 1: the header must be source_id,from,to,cost_per_lead'],
    [`${header}${a},,7`, 'line 2: it must have the four fields source_id,from,to,cost_per_lead'],
    [`${header}${b},,,1\n,,,7`, 'line 3: source_id must be a marketing source id'],
    [`${header}My source,,,7`, 'line 2: source_id must be a marketing source id'],
    [`${header}\n${a},soon,,7`, 'line 3: from must be a time in ISO 8601, or empty'],
    [`${header}${a},,2026-02-30,7`, 'line 2: to must be a time in ISO 8601, or empty'],
    [`${header}${a},2026-02-01,2026-02-01,7`, 'line 2: to must be later than from'],
    [`${header}${a},,,12.50`, 'line 2: cost_per_lead must be a whole number of cents'],
    [`${header}${a},,,-1`, 'line 2: cost_per_lead must be a whole number of cents'],
    [`${header}${a},,,`, 'line 2: cost_per_lead must be a whole number of cents'],
    [`${header}${a},,2026-02-01,1\n${b},,,1\n${a},2026-01-31,,2`, 'line 4: from and to overlap with those of line 2'],
  ] as const) {
    t.deepEqual(costsFrom(text), E.left(sentence))
  }
})
