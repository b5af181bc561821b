import { createServer, type AddressInfo, type Socket } from 'node:net'

/** A message that was taken, with line feeds alone, and whom it was for. */
type Taken = { readonly from: string; readonly to: ReadonlyArray<string>; readonly message: string }

/** The server answers each of these; `end` is the line that ends a message. */
export type SmtpStep = 'greeting' | 'EHLO' | 'MAIL' | 'RCPT' | 'DATA' | 'end' | 'QUIT' | 'RSET'

/** A reply, or null for silence; undefined for the one that is usual. */
export type Replying = (step: SmtpStep, line: string) => string | null | undefined

export type SmtpServer = {
  readonly url: string
  readonly taken: ReadonlyArray<Taken>
  readonly reply: (replying: Replying) => void
  /** Connections that were opened so far. */
  readonly connections: () => number
  readonly close: () => Promise<void>
}

const usual: Readonly<Record<SmtpStep, string>> = {
  greeting: '220 mail.example ESMTP',
  EHLO: '250 mail.example',
  MAIL: '250 sender ok',
  RCPT: '250 recipient ok',
  DATA: '354 go ahead',
  end: '250 taken',
  QUIT: '221 bye',
  RSET: '250 reset',
}

/** A mail server: takes everything until it is told otherwise. */
export const openSmtpServer = async (): Promise<SmtpServer> => {
  const taken: Array<Taken> = []
  const sockets = new Set<Socket>()
  let replying: Replying = () => undefined
  let connections = 0

  const converse = (socket: Socket): void => {
    connections += 1
    sockets.add(socket.once('close', () => sockets.delete(socket)).on('error', () => undefined))
    let [from, to, message, isMessage] = ['', new Array<string>(), new Array<string>(), false]
    let rest = ''
    /** The code of the reply that was given. */
    const answer = (step: SmtpStep, line = ''): string => {
      const scripted = replying(step, line)
      const reply = scripted === undefined ? usual[step] : scripted
      if (reply !== null) socket.write(`${reply}\r\n`)
      return reply?.slice(0, 1) ?? ''
    }
    const take = (line: string): void => {
      if (isMessage && line !== '.') message.push(line.replace(/^\./, ''))
      else if (isMessage) {
        isMessage = false
        if (answer('end') === '2') taken.push({ from, to, message: `${message.join('\n')}\n` })
      } else {
        const step = line.slice(0, 4).toUpperCase() as SmtpStep
        const isAccepted = ['2', '3'].includes(answer(step, line))
        const address = /<(.*)>/.exec(line)?.[1] ?? ''
        if (step === 'MAIL') [from, to, message] = [address, [], []]
        if (step === 'RCPT' && isAccepted) to = [...to, address]
        if (step === 'DATA') isMessage = isAccepted
        if (step === 'QUIT') socket.end()
      }
    }
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) take(line)
    })
    answer('greeting')
  }
  const server = createServer(converse)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    taken,
    reply: (next) => {
      replying = next
    },
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
