import type { ResidenceState } from './residence-state.js'

/** Hours of the local day, from and to; null where the day is closed. */
type Hours = readonly [from: number, to: number] | null

/** When a state allows solicitation by telephone. */
type StateHours = {
  readonly weekdays: Hours
  readonly saturday: Hours
  readonly sunday: Hours
  readonly messagesIn24Hours?: number
}

const daily = (from: number, to: number, limit?: { readonly messagesIn24Hours: number }): StateHours => ({
  weekdays: [from, to],
  saturday: [from, to],
  sunday: [from, to],
  ...limit,
})

/**
 * The states that are stricter than the federal rule: 8 a.m. to 9 p.m. where the called party is, 47 CFR 64.1200(c)(1),
 * which is what a standard playbook keeps. Legal holidays (Alabama, Louisiana, Rhode Island, Utah and others) are not
 * in it, nor are rules for recorded voices alone.
 */
export const stateHours: Readonly<Partial<Record<ResidenceState, StateHours>>> = {
  /** Ala. Admin. Code r. 770-X-5-.17(1)(b), on automated solicitation. */
  AL: { weekdays: [8, 20], saturday: [8, 20], sunday: null },
  /** Conn. Gen. Stat. § 42-288a, as amended by Public Act 23-98. */
  CT: daily(9, 20),
  /** Fla. Stat. § 501.616(6)(a) and (b). */
  FL: daily(8, 20, { messagesIn24Hours: 3 }),
  /** Ky. Rev. Stat. § 367.46955: not between 9 p.m. and 10 a.m. */
  KY: daily(10, 21),
  /** La. Pub. Serv. Comm'n General Order R-29617 § V(A). */
  LA: { weekdays: [8, 20], saturday: [8, 20], sunday: null },
  /** Md. Code, Com. Law § 14-4502 (Stop the Spam Calls Act of 2023). */
  MD: daily(8, 20, { messagesIn24Hours: 3 }),
  /** Mass. Gen. Laws ch. 159C, § 3. */
  MA: daily(8, 20),
  /** Minn. Stat. § 325E.30. */
  MN: daily(9, 21),
  /** Miss. Code § 77-3-603(a) and § 77-3-723(1). */
  MS: { weekdays: [8, 21], saturday: [8, 21], sunday: null },
  /** Nev. Rev. Stat. § 598.0918. */
  NV: daily(9, 20),
  /** N.M. Stat. § 57-12-22. */
  NM: daily(9, 21),
  /** Okla. Stat. tit. 15, § 775C.4. */
  OK: daily(8, 20, { messagesIn24Hours: 3 }),
  /** Or. House Bill 3865 (2025), since 2026 and of text messages, too. */
  OR: daily(8, 20, { messagesIn24Hours: 3 }),
  /** R.I. Gen. Laws § 5-61-3.6 with § 5-61-2. Readings differ on Sundays; this is the stricter one. */
  RI: { weekdays: [9, 18], saturday: [10, 17], sunday: null },
  /**
   * S.D. Codified Laws § 37-30-28, on automated dialing. Whether Saturday is a weekday is left open; this is the
   * stricter reading.
   */
  SD: { weekdays: [9, 21], saturday: null, sunday: null },
  /** Tex. Bus. & Com. Code § 301.051; § 302.001 since 2025 for text messages. */
  TX: { weekdays: [9, 21], saturday: [9, 21], sunday: [12, 21] },
  /** Utah Code § 13-25a-103(3). */
  UT: { weekdays: [8, 21], saturday: [8, 21], sunday: null },
  /** Wash. Rev. Code § 19.158.040(2) and § 80.36.390. */
  WA: daily(8, 20),
}
