import { commandOf, launch, runProgram, type Ended, type Environment, type Launched } from './program.js'

const script = new URL('../../../app/cli/leadloop.js', import.meta.url)

/** Runs a command of `leadloop` to its end: what differs of this environment is given. */
export const runLeadloop = (args: ReadonlyArray<string>, environment: Environment): Promise<Ended> =>
  runProgram(script, args, environment)

/**
 * Begins a command of `leadloop` in a shell that is given it as `"$0" "$@"`, such as to limit it or to redirect its
 * output.
 */
export const launchLeadloopBy = (shell: string, args: ReadonlyArray<string>, environment: Environment): Launched =>
  launch('/bin/sh', ['-c', shell, ...commandOf(script), ...args], { ...process.env, ...environment })

/** Begins a command of `leadloop`, which goes on until it is told to end. */
export const launchLeadloop = (args: ReadonlyArray<string>, environment: Environment): Launched => {
  const [command, ...rest] = commandOf(script)
  return launch(command, [...rest, ...args], { ...process.env, ...environment })
}
