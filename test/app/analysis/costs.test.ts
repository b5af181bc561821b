import test from 'ava'
import { costsFrom } from '../../../app/analysis/attribution/costs.js'
import { E } from '../../../domain/prelude.js'

const header = 'source_id,from,to,cost_per_lead\n'

test('costs are read with open ends, quotes and the line ends of a spreadsheet', (t) => {
  const text = `\uFEFF${header.trim()}\r\nmks_a,,2026-02-01,1250\r\n"mks_a","2026-02-01T00:00:00Z",,0\r\n\r\nmks_b,,,7`
  t.deepEqual(
    costsFrom(text),
    E.right([
      { sourceId: 'mks_a', to: '2026-02-01T00:00:00.000Z', cents: 1250 },
      { sourceId: 'mks_a', from: '2026-02-01T00:00:00.000Z', cents: 0 },
      { sourceId: 'mks_b', cents: 7 },
    ]),
  )
})

test('a wrong line is named with its field', (t) => {
  for (const [text, sentence] of [
    ['', 'line 1: the header must be source_id,from,to,cost_per_lead'],
    ['source_id,cost_per_lead\n', 'line 1: the header must be source_id,from,to,cost_per_lead'],
    [`${header}mks_a,,7`, 'line 2: it must have the four fields source_id,from,to,cost_per_lead'],
    [`${header}mks_b,,,1\n,,,7`, 'line 3: source_id must not be empty'],
    [`${header}\nmks_a,soon,,7`, 'line 3: from must be a time in ISO 8601, or empty'],
    [`${header}mks_a,,2026-02-30,7`, 'line 2: to must be a time in ISO 8601, or empty'],
    [`${header}mks_a,2026-02-01,2026-02-01,7`, 'line 2: to must be later than from'],
    [`${header}mks_a,,,12.50`, 'line 2: cost_per_lead must be a whole number of cents'],
    [`${header}mks_a,,,-1`, 'line 2: cost_per_lead must be a whole number of cents'],
    [`${header}mks_a,,,`, 'line 2: cost_per_lead must be a whole number of cents'],
    [
      `${header}mks_a,,2026-02-01,1\nmks_b,,,1\nmks_a,2026-01-31,,2`,
      'line 4: from and to overlap with those of line 2',
    ],
  ] as const) {
    t.deepEqual(costsFrom(text), E.left(sentence))
  }
})
