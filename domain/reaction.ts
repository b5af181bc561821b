import type { contact, ContactCommand } from './contact.js'
import type { conversion, ConversionCommand } from './conversion.js'
import type { Decider } from './decider.js'
import type { engagement, EngagementCommand } from './engagement.js'
import type { erasure, ErasureCommand } from './erasure.js'
import type { EventOf, EventType } from './events.js'
import type { message, MessageCommand } from './message.js'
import type { playbook, PlaybookCommand } from './playbook.js'
import type { webhook, WebhookCommand } from './webhook.js'

/** A command for the stream of one aggregate. */
export type Intent =
  | IntentFor<typeof playbook, PlaybookCommand>
  | IntentFor<typeof conversion, ConversionCommand>
  | IntentFor<typeof contact, ContactCommand>
  | IntentFor<typeof engagement, EngagementCommand>
  | IntentFor<typeof webhook, WebhookCommand>
  | IntentFor<typeof erasure, ErasureCommand>
  | IntentFor<typeof message, MessageCommand>

type IntentFor<D, C extends { readonly type: string }> =
  D extends Decider<infer _S, C, infer _E, infer _R>
    ? { readonly decider: D; readonly id: string; readonly command: C }
    : never

/** What follows from an event in other streams, in order. Its only time is that of the event. */
export type Reaction<T extends EventType> = (event: EventOf<T>) => ReadonlyArray<Intent>
