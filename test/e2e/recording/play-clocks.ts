import { type Answer, bearer, having } from '../../kit/network/http.js'
import { lead } from '../../kit/service/leads.js'
import { idsOf, openAccount } from '../../kit/service/account.js'
import { operatorKey } from '../../kit/service/settings.js'
import { turned } from '../../kit/service/subscription.js'
import { nobody } from '../../kit/domain/samples.js'
import { callsOf, delivering, inWords, listing, type Calls, type Stage } from './stage.js'

const isDelivery =
  (state: string, attempts: number) =>
  ({ body }: Answer): boolean =>
    body.delivery?.['state'] === state && body.delivery['attempts'] === attempts

/** Past a limit the rest of the minute is refused, and no minute ends here. */
const playLimits = async ({ still, recorder, receiver }: Stage): Promise<void> => {
  const account = await openAccount(still, 'Limited Agency')
  const { manage, submit, rest } = callsOf(recorder, still, account, 'limits')
  const source = `/marketing_sources/${account.sourceId}`
  await manage('a source is limited', 'PATCH', source, { limit_per_minute: 2 })
  for (let n = 1; n <= 3; n += 1) await submit(`lead ${n} of 2`, lead())
  await submit('past the limit, and wrong', {})
  await manage('a source is limited no more', 'PATCH', source, { limit_per_minute: null })
  await submit('a lead without a limit', lead())

  const issued = await account.manage('POST', '/api_keys', { limit_per_minute: 2 })
  const key = having(issued, 'secret')
  for (let n = 1; n <= 3; n += 1) {
    const sent = { headers: bearer(key) }
    await recorder.ask(`limits: call ${n} of 2`, `${still.url}/api/v3/conversions`, sent)
  }
  await rest('a key without a limit', '/conversions')

  const asked = { url: `${receiver.url}/hammered`, token: 'hook-token-hammered', events: ['custom_conversion'] }
  const webhook = await account.addWebhook({ ...asked, format: 'flat' })
  for (let n = 1; n <= 11; n += 1) await manage(`test ${n} of 10`, 'POST', `/webhooks/${webhook}/test`)
}

/** What failed once waits for its retry, which does not come here. */
const playFailing = async ({ still, recorder, receiver, answers }: Stage): Promise<void> => {
  const account = await openAccount(still, 'Failing Agency')
  const { manage, submit, shown } = callsOf(recorder, still, account, 'failing')
  answers.set('/hook/failing', 503)
  const asked = { url: `${receiver.url}/failing`, token: 'hook-token-failing' }
  const id = having(await manage('a webhook that refuses', 'POST', '/webhooks', asked), 'webhook').id
  const path = `/webhooks/${id}/deliveries`
  await submit('a lead', lead())
  const tried = listing('deliveries', 1, ({ attempts }) => attempts === 1)
  const [delivery] = having(await shown('what waits for its retry', path, tried), 'deliveries')
  const one = `${path}/${delivery?.id ?? ''}`
  await shown('one that waits for its retry', one, isDelivery('due', 1))
  await manage('what is due', 'GET', `${path}?state=due`)
  await manage('a resend of what is due', 'POST', `${one}/resend`)
  await shown('a resend that failed', one, isDelivery('due', 2))
  answers.delete('/hook/failing')
  await manage('another resend of what is due', 'POST', `${one}/resend`)
  await shown('a resend that succeeded', one, isDelivery('succeeded', 3))

  answers.set('/hook/failing', 503)
  const second = idsOf(await submit('another lead', lead()))
  const waits = (attempts: number, state: string) =>
    listing(
      'timeline',
      3,
      (entry) => entry['kind'] !== 'delivery' || (entry['attempts'] === attempts && entry['state'] === state),
    )
  const timeline = `/contacts/${second.contact_id}/timeline`
  await shown('a timeline with what waits', timeline, waits(1, 'due'))
  await manage('the webhook is removed', 'DELETE', `/webhooks/${id}`)
  await shown('a timeline with what was given up', timeline, waits(1, 'abandoned'))
}

/** The webhook is off after nineteen attempts: what is held for it, and how it is caught up with or skipped. */
const playOff = async ({ rushing, recorder, receiver, answers }: Stage): Promise<void> => {
  const account = await openAccount(rushing, 'Agency of Failures')
  const calls = callsOf(recorder, rushing, account, 'off')
  const { manage, submit, shown } = calls
  const asked = { url: `${receiver.url}/off`, token: 'hook-token-off' }
  const id = having(await manage('a webhook', 'POST', '/webhooks', asked), 'webhook').id
  const [path, delivered] = [`/webhooks/${id}`, delivering(receiver, account, [id])]
  const isOff = listing('webhooks', 1, ({ state }) => state === 'off')
  const states =
    (...wanted: ReadonlyArray<string>) =>
    ({ body }: Answer): boolean =>
      body.deliveries?.map(({ state }) => state).join() === wanted.join()
  const report = (name: string): Promise<Answer> =>
    manage(name, 'POST', `/engagements/${good.next_engagement_id}/activities`, {
      type: 'event',
      label: 'interested',
      note: name,
    })

  const good = idsOf(await submit('a lead that is delivered', lead()))
  await delivered(1)
  answers.set('/hook/off', 500)
  await submit('a lead that is not', lead())
  await shown('the webhook is off', '/webhooks', isOff)
  await report('an event that is held')
  const all = having(
    await shown('what failed and what is held', `${path}/deliveries`, states('held', 'failed', 'succeeded')),
    'deliveries',
  )
  for (const state of ['held', 'failed', 'undelivered'])
    await manage(`what is ${state}`, 'GET', `${path}/deliveries?state=${state}`)
  for (const { id: one, state } of all) await manage(`one that ${String(state)}`, 'GET', `${path}/deliveries/${one}`)
  await playResends(calls, path, answers)
  await manage('turned on to catch up', 'POST', `${path}/turn_on`, { catch_up: true })
  await shown('what was caught up with', `${path}/deliveries`, states('succeeded', 'succeeded', 'succeeded'))
  await manage('the webhook is on again', 'GET', '/webhooks')

  answers.set('/hook/off', 500)
  await report('an event that fails')
  await turned(account, id, 'off')
  await shown('what failed again', `${path}/deliveries?state=failed`, listing('deliveries', 1))
  await manage('turned on to skip', 'POST', `${path}/turn_on`, { catch_up: false })
  await shown('what was skipped', `${path}/deliveries?state=skipped`, listing('deliveries', 1))
  await manage('turned on when it is on', 'POST', `${path}/turn_on`, { catch_up: true })
  answers.delete('/hook/off')
  await manage('what turned it on', 'GET', '/webhooks')
}

/** All that failed of a period, once more: first in vain, then with success, then there is nothing left. */
const playResends = async ({ manage, shown }: Calls, path: string, answers: Stage['answers']): Promise<void> => {
  const period = { from: '2024-01-01', to: '2999-12-31T23:59:59+00:00' }
  const ended = ({ body }: Answer): boolean =>
    body.resend?.['state'] === 'completed' &&
    body.resend['requested'] === Number(body.resend['delivered']) + Number(body.resend['failed'])
  for (const name of ['in vain', 'with success', 'with nothing left']) {
    if (name === 'with success') answers.delete('/hook/off')
    const { id } = having(await manage(`a resend of many ${name}`, 'POST', `${path}/resends`, period), 'resend')
    await shown(`a resend of many ${name} has ended`, `${path}/resends/${id}`, ended)
    if (name === 'in vain') await manage('one that has ended is cancelled', 'POST', `${path}/resends/${id}/cancel`)
  }
  await manage('resends', 'GET', `${path}/resends`)
  const first = await manage('the first page of resends', 'GET', `${path}/resends?limit=2`)
  await manage('the last page of resends', 'GET', `${path}/resends?limit=2&cursor=${first.body.next_cursor ?? ''}`)
  const wrong = [{}, { from: '2024-01-02', to: '2024-01-01' }, { from: 'x', to: null }, { from: 5, to: '2024-02-30' }]
  for (const body of wrong) await manage(`a resend of many with ${inWords(body)}`, 'POST', `${path}/resends`, body)
}

/** What stays as it is for as long as nobody posts: due, asked for, running. */
const playIdle = async ({ idle, recorder, receiver }: Stage): Promise<void> => {
  const account = await openAccount(idle, 'Waiting Agency')
  const { manage, submit, shown } = callsOf(recorder, idle, account, 'idle')
  const asked = { url: `${receiver.url}/idle`, token: 'hook-token-idle' }
  const id = having(await manage('a webhook', 'POST', '/webhooks', asked), 'webhook').id
  const other = await account.addWebhook({ ...asked, events: ['sold'] })
  const [path, deliveries] = [`/webhooks/${id}`, `/webhooks/${id}/deliveries`]
  await submit('a lead', lead())
  const [delivery] = having(await shown('what is due', deliveries, listing('deliveries', 1)), 'deliveries')
  await manage('a resend', 'POST', `${deliveries}/${delivery?.id ?? ''}/resend`)
  await manage('the same resend again', 'POST', `${deliveries}/${delivery?.id ?? ''}/resend`)
  const isAsked = listing('deliveries', 1, ({ resend_requested }) => resend_requested === true)
  await shown('what is asked for', `${deliveries}?state=due`, isAsked)
  await manage('one that is asked for', 'GET', `${deliveries}/${delivery?.id ?? ''}`)

  const period = { from: '2024-01-01T00:00:00+02:00', to: '2024-01-01' }
  const resend = having(await manage('a resend of many', 'POST', `${path}/resends`, period), 'resend').id
  const one = `${path}/resends/${resend}`
  await shown('it runs', one, ({ status }) => status === 200)
  await manage('another webhook does not have it', 'GET', `/webhooks/${other}/resends/${resend}`)
  await manage('another webhook does not cancel it', 'POST', `/webhooks/${other}/resends/${resend}/cancel`)
  await manage('it is cancelled', 'POST', `${one}/cancel`)
  await manage('it is cancelled again', 'POST', `${one}/cancel`)
  await shown('it was cancelled', one, ({ body }) => body.resend?.['state'] === 'cancelled')
  for (const unknown of [nobody('rsd'), 'rsd_1', id]) {
    await manage(`no resend ${unknown}`, 'GET', `${path}/resends/${unknown}`)
  }
  await manage('the other webhook is removed', 'DELETE', `/webhooks/${other}`)
  await recorder.ask('idle: it lives', `${idle.url}/health/live`, { headers: bearer(operatorKey) })
}

/** What hangs on time: limits per minute, retries, webhooks that are turned off, resends. */
export const playClocks = async (stage: Stage): Promise<void> => {
  await playLimits(stage)
  await playFailing(stage)
  await playOff(stage)
  await playIdle(stage)
}
