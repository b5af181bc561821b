import { streamOf } from '../../domain/decider.js'
import type { CommandHandler } from '../../domain/ports.js'

/** Commands for one stream wait for each other in this process, so that only other processes can be in conflict with it. */
export const streamQueue = (handler: CommandHandler): CommandHandler => {
  const last = new Map<string, Promise<unknown>>()

  const afterOthers = <A>(stream: string, task: () => Promise<A>): Promise<A> => {
    const before = last.get(stream)
    const turn = before === undefined ? task() : before.then(task, task)
    last.set(stream, turn)
    const leave = (): void => {
      if (last.get(stream) === turn) last.delete(stream)
    }
    turn.then(leave, leave)
    return turn
  }
  return {
    load: handler.load,
    execute: (decider, id, command, cause, assumed) =>
      afterOthers(streamOf(decider, id), () => handler.execute(decider, id, command, cause, assumed)),
  }
}
