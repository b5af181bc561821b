import { start } from './cli/start.js'

await start()
