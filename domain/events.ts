import { AccountEvent } from './account.js'
import { t } from './codec.js'
import { ContactEvent } from './contact.js'
import { ConversionEvent } from './conversion.js'
import { ConversionRecordEvent } from './conversion-record.js'
import { DeliveryEvent } from './delivery.js'
import { EngagementEvent } from './engagement.js'
import { ErasureEvent } from './erasure.js'
import type { Recorded } from './event.js'
import { LeadEvent } from './lead.js'
import { MarketingSourceEvent } from './marketing-source.js'
import { MessageEvent } from './message.js'
import { NoticeEvent } from './notice.js'
import { ParkedEventEvent } from './parked-event.js'
import { PlaybookEvent } from './playbook.js'
import { RemarkEvent } from './remark.js'
import { ResendEvent } from './resend.js'
import { SendingHoldEvent } from './sending-hold.js'
import { SenderOptOutEvent } from './sender-opt-out.js'
import { SubmissionKeyEvent } from './submission-key.js'
import { WebhookEvent } from './webhook.js'

/** The events of each category of streams. */
const eventsByCategory = {
  account: AccountEvent,
  playbook: PlaybookEvent,
  marketing_source: MarketingSourceEvent,
  conversion: ConversionEvent,
  lead: LeadEvent,
  submission_key: SubmissionKeyEvent,
  contact: ContactEvent,
  conversion_contact: ConversionRecordEvent,
  engagement: EngagementEvent,
  remark: RemarkEvent,
  message: MessageEvent,
  sender: SendingHoldEvent,
  sender_opt_out: SenderOptOutEvent,
  webhook: WebhookEvent,
  delivery: DeliveryEvent,
  resend: ResendEvent,
  notice: NoticeEvent,
  parked: ParkedEventEvent,
  erasure: ErasureEvent,
} as const

export type Category = keyof typeof eventsByCategory

/** The categories of all streams. */
export const categories = Object.keys(eventsByCategory) as ReadonlyArray<Category>

/** Every event as it is written today. */
export type DomainEvent = t.TypeOf<(typeof eventsByCategory)[Category]>

export type EventType = DomainEvent['type']

/** As every store gives it. */
export type RecordedEvent = Recorded<DomainEvent>

export type EventOf<T extends EventType> = Extract<RecordedEvent, { readonly type: T }>

type EventCodec = t.Type<DomainEvent>

type CategorisedCodec = { readonly category: Category; readonly codec: EventCodec }

/** A union's members, and theirs. */
const codecsIn = (codec: t.Any): ReadonlyArray<t.Any> =>
  codec instanceof t.UnionType ? (codec.types as ReadonlyArray<t.Any>).flatMap(codecsIn) : [codec]

/** By the type of the event, which names its codec: see `eventOf`. */
const codecs: ReadonlyMap<string, CategorisedCodec> = new Map(
  categories.flatMap((category) =>
    codecsIn(eventsByCategory[category]).map((codec) => [codec.name, { category, codec }] as const),
  ),
)

/** Undefined for a type that no stream of ours has. */
export const codecOf = (type: string): EventCodec | undefined => codecs.get(type)?.codec

export const eventTypes = [...codecs.keys()] as ReadonlyArray<EventType>

/** The categories in which events of these types stand. */
export const categoriesOf = (types: ReadonlySet<string>): ReadonlyArray<Category> => [
  ...new Set([...codecs].filter(([type]) => types.has(type)).map(([, { category }]) => category)),
]
