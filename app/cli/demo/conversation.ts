import { t } from '../../../domain/codec.js'
import type { Receiver } from './receiver.js'
import { Surprise, type Call, type Storyteller } from './storyteller.js'

/** The account, as the operator reaches it. */
type Place = {
  readonly url: string
  readonly operatorKey: string
  readonly customer: Receiver
  /** That the receiver is sent. */
  readonly token: string
}

/** The playbook is told what the story needs of it. */
export const setPlaybook = async (
  { step, tell }: Storyteller,
  { url, operatorKey: key }: Pick<Place, 'url' | 'operatorKey'>,
  playbookId: string,
): Promise<void> => {
  await step(
    'Its playbook has three texts for three days. Here it may write at any hour, and a rule says what a yes means.',
  )
  const body = { quiet_hours: null, reply_rules: [{ words: ['yes'], outcome: 'qualified' }] }
  await tell({ method: 'PATCH', url: `${url}/playbooks/${playbookId}`, key, body, status: 200, answer: t.unknown })
}

const Messages = t.type({ messages: t.array(t.type({ direction: t.string, state: t.string })) })
type Messages = t.TypeOf<typeof Messages>
const Received = t.type({ message: t.type({ meaning: t.string }) })

/** The playbook writes to the contact, which answers twice. */
export const converse = async (
  teller: Storyteller,
  { url, operatorKey: key, customer, token }: Place,
  contactId: string,
): Promise<void> => {
  const { step, tell, tellWebhook } = teller
  const messages = `${url}/contacts/${contactId}/messages`

  await step(
    'Within a second it writes to the contact. Where no provider of texts is set, the service keeps what it sends.',
  )
  const sent = { url: messages, key, status: 200, answer: Messages }
  await firstSent(teller, sent)
  await tell(sent)

  const write = (text: string) =>
    tell({ method: 'POST', url: messages, key, body: { text }, status: 201, answer: Received })
  await step('The contact answers: this call stands for its text. The next one waits, so that a person can talk.')
  await write('Who is this?')
  await tellWebhook(customer, token, 'interested')

  await step('Its second answer is a yes, by the rule an outcome: that ends the conversation.')
  await write('Yes, please call me')
  await tellWebhook(customer, token, 'qualified')
}

const firstSent = async ({ ask }: Storyteller, messages: Call<Messages>): Promise<void> => {
  for (let tries = 0; tries < 3_000; tries += 1) {
    const answered = await ask(messages)
    if (answered?.messages.some(({ state }) => state === 'sent') === true) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Surprise('The playbook was to write to the contact.')
}
