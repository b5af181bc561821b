import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { SourceId } from '../../../domain/ids.js'
import { manualClock } from '../../kit/time/manual-clock.js'

const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

const bitsOf = (id: string): string =>
  Array.from({ length: 26 }, (_, nth) =>
    letters
      .indexOf(id[nth] ?? '')
      .toString(2)
      .padStart(5, '0'),
  ).join('')

test('the id of a credential has 128 random bits, also within one millisecond', (t) => {
  const ids = randomIds(manualClock())
  const made = Array.from({ length: 200 }, ids.unguessable)
  t.is(new Set(made).size, 200)
  t.true(made.every((id) => SourceId.is(`mks_${id}`)))
  const bits = made.map(bitsOf)
  // A bit that is always the same in 200 ids is not random: the two first of 130 letters' bits are none of the 128.
  const varied = Array.from({ length: 130 }, (_, nth) => new Set(bits.map((one) => one[nth])).size === 2)
  t.is(varied.filter(Boolean).length, 128)
})
