import { later, type Instant } from './instant.js'
import { segmentsOf, type Segments } from './message-segments.js'
import { messageOf, type FieldValues } from './message-template.js'
import type { PlaybookSettings } from './playbook.js'

/** A message as a lead would get it. */
type PreviewedMessage = Segments & { readonly text: string; readonly at: Instant }

type PlaybookPreview = {
  readonly messages: ReadonlyArray<PreviewedMessage>
  /** What may be wrong with them, in sentences. */
  readonly warnings: ReadonlyArray<string>
}

type Previewed = {
  readonly settings: PlaybookSettings
  readonly accountTitle: string
  /** Of the lead. */
  readonly fields: FieldValues
  readonly submittedAt: Instant
}

const minute = 60_000

/** The messages that a lead would get if it never replied. */
export const previewOf = ({ settings, accountTitle, fields, submittedAt }: Previewed): PlaybookPreview => {
  let at = submittedAt
  const messages = settings.steps.map(({ message, delay_minutes }): PreviewedMessage => {
    at = later(at, delay_minutes * minute)
    const text = messageOf(message, { ...fields, account: accountTitle })
    return { text, at, ...segmentsOf(text) }
  })
  return { messages, warnings: warningsFor(messages, accountTitle) }
}

/** Words by which people learn how to end it. */
const stopHint = /\b(?:stop|unsubscribe|opt[ -]?out)\b/i

const warningsFor = (messages: ReadonlyArray<PreviewedMessage>, accountTitle: string): ReadonlyArray<string> => {
  const [first] = messages
  const empty = messages.flatMap(({ text }, index) =>
    text === '' ? [`Message ${index + 1} is blank for this lead, and would not be sent.`] : [],
  )
  if (first === undefined) return []
  const namesSender = first.text.toLowerCase().includes(accountTitle.trim().toLowerCase())
  return [
    ...(namesSender
      ? []
      : ['The first message does not say who writes: {{account}} stands for the title of the account.']),
    ...(stopHint.test(first.text)
      ? []
      : ['The first message does not say how to stop, such as "Reply STOP to opt out".']),
    ...empty,
  ]
}
