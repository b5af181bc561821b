/** Whose messages are sent, from what, and through which server. */
export type TwilioAccount = {
  /** `https://host`, with a port where it has one and without a slash at its end. */
  readonly baseUrl: string
  readonly accountSid: string
  readonly authToken: string
  /** A number in E.164, or the SID of a Messaging Service. */
  readonly sender: string
}

/** Whether the sender is a Messaging Service, which picks a number itself. */
export const isMessagingService = (sender: string): boolean => sender.startsWith('MG')

/** Where one message of an account stands. */
export const messagePath = ({ accountSid }: TwilioAccount, sid: string): string =>
  `/2010-04-01/Accounts/${accountSid}/Messages/${sid}.json`

/** Where the messages of an account are sent to and listed. */
export const messagesPath = ({ accountSid }: TwilioAccount): string =>
  `/2010-04-01/Accounts/${accountSid}/Messages.json`
