/** Loaded before a command: at its end that says on standard error how many kB it held at most. */
process.once('exit', () => {
  process.stderr.write(`held at most ${process.resourceUsage().maxRSS} kB\n`)
})
