import { SegmentedMessage } from 'sms-segments-calculator'

/** What carriers count a text as: UCS-2 once it holds one character that GSM-7 lacks, and then fewer characters fit. */
export type Segments = { readonly encoding: 'GSM-7' | 'UCS-2'; readonly segments: number }

/**
 * Letters, digits and signs that ASCII and GSM-7 share, each in one unit: 160 of them fit into a segment that stands
 * alone (3GPP TS 23.038).
 */
const isPlainSegment = (text: string): boolean => /^[\n !-Z_a-z]{1,160}$/.test(text)

export const segmentsOf = (text: string): Segments => {
  // Most messages are, and the package takes longer to count one than everything else that sends it.
  if (isPlainSegment(text)) return { encoding: 'GSM-7', segments: 1 }
  const { encodingName, segmentsCount } = new SegmentedMessage(text)
  return { encoding: encodingName === 'GSM-7' ? 'GSM-7' : 'UCS-2', segments: segmentsCount }
}
