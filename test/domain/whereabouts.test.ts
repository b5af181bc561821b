import test from 'ava'
import type { Phone } from '../../domain/phone.js'
import { residenceStateFromText } from '../../domain/residence-state.js'
import { usPlaces } from '../../domain/us-places.js'
import { whereaboutsOf } from '../../domain/whereabouts.js'

/** Toll-free: it stands for no place. */
const tollFree: Phone = '+18005550123'

const short: Readonly<Record<string, string>> = {
  'America/New_York': 'E',
  'America/Chicago': 'C',
  'America/Denver': 'M',
  'America/Phoenix': 'A',
  'America/Los_Angeles': 'P',
}

const shown = ({ zones, states }: ReturnType<typeof whereaboutsOf>): string =>
  `${[...states].sort().join('+')} ${zones
    .map((zone) => short[zone] ?? zone)
    .sort()
    .join('+')}`.trim()

const ofZip = (zip: string): string => shown(whereaboutsOf({ zip, state: undefined, phone: tollFree }))
const ofState = (state: string): string => shown(whereaboutsOf({ zip: undefined, state, phone: tollFree }))
const ofNumber = (areaCode: string): string =>
  shown(whereaboutsOf({ zip: undefined, state: undefined, phone: `+1${areaCode}5550123` }))

const nowhere = 'A+C+E+M+P'

test('a ZIP code tells the state and its zone, and both zones near a boundary', (t) => {
  const expected: Readonly<Record<string, string>> = {
    '10001': 'NY E',
    '06390': 'CT E',
    '35203': 'AL C',
    '36867': 'AL C+E',
    '37203': 'TN C',
    '37402': 'TN E',
    '37321': 'TN C+E',
    '40202': 'KY E',
    '42001': 'KY C',
    '42642': 'KY C+E',
    '46402': 'IN C',
    '47708': 'IN C',
    '46204': 'IN E',
    '46350': 'IN C+E',
    '32501': 'FL C',
    '32401': 'FL C+E',
    '33101': 'FL E',
    '58102': 'ND C',
    '58601': 'ND C+M',
    '57104': 'SD C',
    '57701': 'SD M',
    '69361': 'NE M',
    '69101': 'NE C+M',
    '67735': 'KS C+M',
    '79901': 'TX M',
    '79830': 'TX C+M',
    '78701': 'TX C',
    '83702': 'ID M',
    '83814': 'ID P',
    '97914': 'OR M+P',
    '97201': 'OR P',
    '49801': 'MI C+E',
    '48201': 'MI E',
    '85001': 'AZ A',
    '86515': 'AZ A+M',
    '89883': 'NV M+P',
    '89109': 'NV P',
    '96813': 'HI Pacific/Honolulu',
    '96799': 'AS Pacific/Pago_Pago',
    '99501': 'AK America/Anchorage',
    '99546': 'AK America/Adak+America/Anchorage',
    '00901': 'PR America/Puerto_Rico',
    '96910': 'GU Pacific/Guam',
    '20101': 'VA E',
    '88510': 'TX M',
  }
  for (const [zip, place] of Object.entries(expected)) t.is(ofZip(zip), place, zip)
})

test('an area code tells the state and its zone, and both zones near a boundary', (t) => {
  const expected: Readonly<Record<string, string>> = {
    '212': 'NY E',
    '205': 'AL C',
    '334': 'AL C+E',
    '615': 'TN C',
    '865': 'TN E',
    '423': 'TN C+E',
    '502': 'KY E',
    '270': 'KY C+E',
    '317': 'IN E',
    '219': 'IN C+E',
    '812': 'IN C+E',
    '305': 'FL E',
    '850': 'FL C+E',
    '701': 'ND C+M',
    '605': 'SD C+M',
    '402': 'NE C',
    '308': 'NE C+M',
    '316': 'KS C',
    '785': 'KS C+M',
    '915': 'TX M',
    '512': 'TX C',
    '208': 'ID M+P',
    '503': 'OR P',
    '541': 'OR M+P',
    '313': 'MI E',
    '906': 'MI C+E',
    '602': 'AZ A',
    '928': 'AZ A+M',
    '775': 'NV M+P',
    '808': 'HI Pacific/Honolulu',
    '907': 'AK America/Adak+America/Anchorage',
    '787': 'PR America/Puerto_Rico',
  }
  for (const [areaCode, place] of Object.entries(expected)) t.is(ofNumber(areaCode), place, areaCode)
})

test('a state alone stands for all of its zones', (t) => {
  t.is(ofState('FL'), 'FL C+E')
  t.is(ofState('TN'), 'TN C+E')
  t.is(ofState('ID'), 'ID M+P')
  t.is(ofState('OH'), 'OH E')
})

test('a ZIP code counts before the state, in any usual spelling, and the state where it tells nothing', (t) => {
  const of = (zip: string) => shown(whereaboutsOf({ zip, state: 'FL', phone: tollFree }))
  for (const zip of ['75201', ' 75201 ', '75201-1234', '752011234', '75201 1234']) t.is(of(zip), 'TX C', zip)
  for (const zip of ['', '7520', 'SW1A 1AA', '00000', '34090', '09012']) t.is(of(zip), 'FL C+E', zip)
})

test('a number keeps its area where its owner moved away, so both count', (t) => {
  const moved = whereaboutsOf({ zip: '10001', state: 'NY', phone: '+12135550123' })
  t.is(shown(moved), 'CA+NY E+P')
  t.is(shown(whereaboutsOf({ zip: '33101', state: undefined, phone: '+13055550123' })), 'FL E')
})

test('where nothing is known it may be anywhere in the continental US, and in no state for certain', (t) => {
  for (const areaCode of ['800', '888', '833', '900', '500', '710', '416', '876', '242'])
    t.is(ofNumber(areaCode), nowhere)
  t.is(shown(whereaboutsOf({ zip: undefined, state: undefined, phone: '+442079460123' })), nowhere)
  t.is(shown(whereaboutsOf({ zip: 'none', state: 'UM', phone: '+49212555012' })), nowhere)
})

test('each ZIP prefix and each area code is listed once, and each state is there', (t) => {
  const zips = usPlaces.flatMap((place) => place.zips)
  const areaCodes = usPlaces.flatMap((place) => place.areaCodes)
  t.deepEqual(
    zips.filter((zip, index) => zips.indexOf(zip) < index),
    [],
  )
  t.deepEqual(
    areaCodes.filter((areaCode, index) => areaCodes.indexOf(areaCode) < index),
    [],
  )
  t.deepEqual(
    zips.filter((zip) => !/^(\d{3}|\d{5})$/.test(zip)),
    [],
  )
  t.deepEqual(
    areaCodes.filter((areaCode) => !/^[2-9]\d{2}$/.test(areaCode)),
    [],
  )
  const states = new Set(usPlaces.map(({ state }) => state))
  t.is(states.size, 56)
  for (const state of states) t.is(residenceStateFromText(state), state)
})
