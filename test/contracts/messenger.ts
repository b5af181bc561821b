import type { Messenger, OutgoingMessage } from '../../domain/messenger.js'
import { at, messageId } from '../kit/domain/samples.js'
import { behaviourOf } from './behaviour.js'

type OpenMessenger = {
  /** At whose provider it is `at()`, and nothing was taken yet. */
  readonly messenger: Messenger
  readonly close: () => Promise<void>
}

export const messageOf = (changed: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  id: messageId(),
  to: '+14155550123',
  text: 'Hello Ada, “welcome”. Reply STOP to end.',
  from: undefined,
  validUntil: undefined,
  ...changed,
})

/** What every `Messenger` does (domain/messenger.ts). */
export const messengerContract = (name: string, open: () => Promise<OpenMessenger>): void => {
  const behaviour = behaviourOf(name, open)

  /** The ids under which the provider took these; none where there is no provider. */
  const takenAll = async (
    { send }: Messenger,
    sent: ReadonlyArray<OutgoingMessage>,
  ): Promise<ReadonlyArray<string>> => {
    const outcomes = await Promise.all(sent.map(send))
    return outcomes.flatMap((outcome) => {
      if (outcome.kind !== 'accepted') throw new Error(`a message is ${outcome.kind}`)
      return outcome.providerId === undefined ? [] : [outcome.providerId]
    })
  }

  behaviour(
    'messages that are sent at once are all accepted, none under the id of another',
    async (t, { messenger }) => {
      const sent = [1, 2, 3, 4, 5, 6].map((n) => messageOf({ id: messageId(n), to: `+1415555012${n}` }))
      const ids = await takenAll(messenger, sent)
      t.is(new Set(ids).size, ids.length)
    },
  )

  behaviour('a message that was not sent is absent', async (t, { messenger }) => {
    t.deepEqual(await messenger.settle(messageOf(), at(), new Set()), { kind: 'absent' })
  })

  behaviour('what is known of another message is not taken for one like it', async (t, { messenger }) => {
    const known = new Set(await takenAll(messenger, [messageOf()]))
    t.deepEqual(await messenger.settle(messageOf({ id: messageId(2) }), at(), known), { kind: 'absent' })
  })

  behaviour('what the provider took it erases, however often it is asked', async (t, { messenger }) => {
    for (const id of await takenAll(messenger, [messageOf()])) {
      t.deepEqual(await messenger.eraseCopy(id), { kind: 'erased' })
      t.deepEqual(await messenger.eraseCopy(id), { kind: 'erased' })
    }
    t.deepEqual(await messenger.settle(messageOf(), at(), new Set()), { kind: 'absent' })
  })

  behaviour('what another provider took is kept, and its id is not told', async (t, { messenger }) => {
    const copy = await messenger.eraseCopy('an-id-of-another-provider')
    if (copy.kind === 'erased') throw new Error('what another provider has can not be erased')
    t.not(copy.reason, '')
    t.false(copy.reason.includes('an-id-of'))
  })
}
