import test from 'ava'
import { playbook, standardFields, standardPlaybook, type PlaybookEvent } from '../../domain/playbook.js'
import { accountId, playbookId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const created: PlaybookEvent = {
  type: 'PlaybookCreated',
  data: { playbook_id: playbookId(), account_id: accountId(), settings: standardPlaybook },
}

const create = {
  type: 'CreatePlaybook',
  playbookId: playbookId(),
  accountId: accountId(),
  settings: standardPlaybook,
} as const

test('a playbook is created once', (t) => {
  given(t, playbook).when(create).then(created)
  given(t, playbook, created).when(create).isAlreadySo()
})

test('a change leaves every setting that it does not name', (t) => {
  given(t, playbook, created)
    .when({ type: 'ChangePlaybook', accountId: accountId(), settings: { title: 'Short' } })
    .then({ type: 'PlaybookChanged', data: { settings: { ...standardPlaybook, title: 'Short' } } })
})

test('a change to what stands already is already so', (t) => {
  const changed: PlaybookEvent = {
    type: 'PlaybookChanged',
    data: { settings: { ...standardPlaybook, required_fields: ['email'] } },
  }
  given(t, playbook, created, changed)
    .when({ type: 'ChangePlaybook', accountId: accountId(), settings: { required_fields: ['email'] } })
    .isAlreadySo()
  given(t, playbook, created).when({ type: 'ChangePlaybook', accountId: accountId(), settings: {} }).isAlreadySo()
})

test('the playbook of another account is not found, like one that is missing', (t) => {
  const change = { type: 'ChangePlaybook', accountId: accountId(2), settings: { title: 'Short' } } as const
  given(t, playbook).when(change).refuses('playbook-not-found')
  given(t, playbook, created).when(change).refuses('playbook-not-found')
})

test('a standard playbook asks for the fields of contract 4.6', (t) => {
  t.deepEqual(
    [...standardFields, 'tcpa_opt_in_token', 'tcpa_opt_in_url'].join(' '),
    'first_name last_name email phone date_of_birth gender marital_status current_residence_address ' +
      'current_residence_city current_residence_state current_residence_zip current_insurance_carrier ' +
      'current_insurance_coverage credit_rating tcpa_opt_in_token tcpa_opt_in_url',
  )
})
