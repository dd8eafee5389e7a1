// Called with the name of an agent, the built command, a folder of its own, and pairs of a program's version and its words.
// Each line that is a check begins with `ok` or `FAIL`.

import { mkdirSync } from 'node:fs'
import { judge as claude } from './claude.mjs'
import { agent as codex } from './codex.mjs'
import { agent as gemini } from './gemini-cli.mjs'
import { startModel } from './model.mjs'
import { agent as opencode } from './opencode.mjs'
import { agent as pi } from './pi.mjs'
import { judged } from './sessions.mjs'

const AGENTS = [codex, opencode, pi, gemini]

const [name, trunkline, folder, ...programs] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const model = await startModel()
for (let at = 0; at + 1 < programs.length; at += 2) {
  const judge = { trunkline, folder, model, version: programs[at], program: JSON.parse(programs[at + 1]) }
  if (name === 'claude') await claude(judge)
  else await judged(judge, AGENTS.find((agent) => agent.name === name), AGENTS)
}
model.stop()
