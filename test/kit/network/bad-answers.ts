import type { ServerResponse } from 'node:http'

/** What a receiver does that takes a request and never answers it. */
export const unanswered = (): undefined => undefined

const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'

/** Answers a byte a second, so that the answer is never whole in time. */
export const dripped = ({ socket }: ServerResponse): undefined => {
  let written = 0
  const timer = setInterval(() => socket?.write(answer.charAt(written++)), 1_000)
  socket?.once('close', () => clearInterval(timer))
}
