import type { Messenger } from '../../domain/messenger.js'

/**
 * The `Messenger` port where no provider is named: nothing leaves the service, and a message is sent once it stands in
 * its stream, where the operator reads it. So one whose record is missing was not sent.
 */
export const messengerWithoutProvider: Messenger = {
  send: () => Promise.resolve({ kind: 'accepted', providerId: undefined }),
  settle: () => Promise.resolve({ kind: 'absent' }),
  // A provider that was named before is not any more.
  eraseCopy: () => Promise.resolve({ kind: 'kept', reason: 'no provider is set' }),
}
