import { account } from '../../domain/account.js'
import type { Aggregate } from '../../domain/aggregate.js'
import { contact } from '../../domain/contact.js'
import { conversion } from '../../domain/conversion.js'
import { conversionRecord } from '../../domain/conversion-record.js'
import type { Decider } from '../../domain/decider.js'
import { delivery } from '../../domain/delivery.js'
import { engagement } from '../../domain/engagement.js'
import { erasure } from '../../domain/erasure.js'
import type { Category, DomainEvent, RecordedEvent } from '../../domain/events.js'
import { lead } from '../../domain/lead.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { message } from '../../domain/message.js'
import { notice } from '../../domain/notice.js'
import { parkedEvent } from '../../domain/parked-event.js'
import { playbook } from '../../domain/playbook.js'
import type { AnyCommand, CommandHandler, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { remark } from '../../domain/remark.js'
import { resend } from '../../domain/resend.js'
import { sendingHold } from '../../domain/sending-hold.js'
import { senderOptOut } from '../../domain/sender-opt-out.js'
import { categoryOf, idOf } from '../../domain/stream-name.js'
import { submissionKey } from '../../domain/submission-key.js'
import { webhook } from '../../domain/webhook.js'

type Load = (handler: Pick<CommandHandler, 'load'>, id: string) => Promise<Either<StoreFailure, Aggregate<unknown>>>

const by =
  <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
  ): Load =>
  ({ load }, id) =>
    load(decider, id)

const loads: Readonly<Record<string, Load>> = {
  account: by(account),
  playbook: by(playbook),
  marketing_source: by(marketingSource),
  conversion: by(conversion),
  lead: by(lead),
  submission_key: by(submissionKey),
  contact: by(contact),
  conversion_contact: by(conversionRecord),
  engagement: by(engagement),
  remark: by(remark),
  message: by(message),
  sender: by(sendingHold),
  sender_opt_out: by(senderOptOut),
  webhook: by(webhook),
  delivery: by(delivery),
  resend: by(resend),
  notice: by(notice),
  parked: by(parkedEvent),
  erasure: by(erasure),
} satisfies Record<Category, Load>

type Ports = { readonly store: Pick<EventStore, 'read'>; readonly commandHandler: Pick<CommandHandler, 'load'> }

/** The first event of a stream, and the id of the last one; undefined where there is none. */
type StreamEnds = { readonly first: RecordedEvent | undefined; readonly lastId: string | undefined }

/**
 * Left, `corrupt`, where whoever works on the stream can't read it. It is loaded as they load it, a long one from its
 * snapshot on, so that this costs the same however long it is.
 */
export const streamEnds = async (
  { store, commandHandler }: Ports,
  stream: string,
): Promise<Either<StoreFailure, StreamEnds>> => {
  const loaded = await loads[categoryOf(stream)]?.(commandHandler, idOf(stream))
  if (loaded === undefined) return E.left({ kind: 'corrupt', reason: 'a stream is of a kind that is not known' })
  if (E.isLeft(loaded)) return loaded
  const read = await store.read(stream, 0, 1)
  return E.isLeft(read) ? read : E.right({ first: read.right.events[0], lastId: loaded.right.last?.id })
}
