import { SegmentedMessage } from 'sms-segments-calculator'

/** What carriers count a text as: UCS-2 once it holds one character that GSM-7 lacks, and then fewer characters fit. */
export type Segments = { readonly encoding: 'GSM-7' | 'UCS-2'; readonly segments: number }

export const segmentsOf = (text: string): Segments => {
  const { encodingName, segmentsCount } = new SegmentedMessage(text)
  return { encoding: encodingName === 'GSM-7' ? 'GSM-7' : 'UCS-2', segments: segmentsCount }
}
