// Codex: rollout files, one for a session.

import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { asLines, filesIn, firstLine, keepFile, path, seconds } from './common.mjs'
import { responses } from './lists.mjs'

const sessions = (place) => join(place.home, '.codex', 'sessions')
const shell = (id, cmd, more) => ({ id, name: 'exec_command', args: { cmd, ...more } })
const words = (...more) => ['exec', ...more, '--json', '--skip-git-repo-check']

export const agent = {
  name: 'codex',
  format: 'codex',
  has_lines: true,
  open: ['call_l'],
  tools: {
    read: (id) => shell(id, 'cat one.txt'),
    list: (id) => shell(id, 'ls'),
    fail: (id) => shell(id, 'cat none.txt'),
    wait: (id) => shell(id, 'touch begun; sleep 30', { yield_time_ms: 20_000 }),
  },
  compaction: {
    options: { limits: 'model_context_window = 20000\nmodel_auto_compact_token_limit = 10000\n' },
    steps: [
      { say: 'first-prompt', turns: [{ text: 'hello one', tokens: 15_000 }] },
      { say: 'second-prompt', turns: [{ text: 'what was said' }, { text: 'hello two' }] },
    ],
    summary: 'what was said',
  },
  setup(place) {
    const settings = [
      'model = "scripted"', 'model_provider = "judge"', 'approval_policy = "never"', 'sandbox_mode = "danger-full-access"',
      place.options.limits ?? '',
      '[model_providers.judge]', 'name = "judge"', `base_url = "${place.model.url}/v1"`, 'wire_api = "responses"',
      'request_max_retries = 0', 'stream_max_retries = 0',
    ]
    keepFile(join(place.home, '.codex', 'config.toml'), `${settings.join('\n')}\n`)
    place.env = { HOME: place.home, CODEX_HOME: join(place.home, '.codex'), PATH: path }
  },
  prompt: (text) => [...words(), text],
  resume: ({ id }, text) => [...words('resume'), id, text],
  fork: ({ id }, text) => [...words('fork'), id, text],
  found(place) {
    const file = filesIn(sessions(place), /rollout-.*\.jsonl$/).at(-1)
    return { file, id: firstLine(readFileSync(file, 'utf8')).payload.id }
  },
  items: (body) => responses(body.input),
  is_own: (text) => /^\s*(<(environment_context|permissions instructions|skills_instructions|user_instructions)>|# AGENTS\.md)/.test(text),
  by_hand(place, id, turns) {
    const times = seconds()
    const line = (type, payload) => ({ timestamp: times.next().value.toISOString(), type, payload })
    const message = (role, type, text) => line('response_item', { type: 'message', role, content: [{ type, text }] })
    const all = [line('session_meta', {
      id, timestamp: '2026-02-01T10:00:00.000Z', cwd: place.project, originator: 'codex_exec', cli_version: place.version, source: 'exec', model_provider: 'judge',
    })]
    for (const { user, text, calls = [], results = {} } of turns) {
      if (user) all.push(message('user', 'input_text', user))
      if (text) all.push(message('assistant', 'output_text', text))
      for (const { id, name, args } of calls) all.push(line('response_item', { type: 'function_call', name, arguments: JSON.stringify(args), call_id: id }))
      for (const [call_id, output] of Object.entries(results)) all.push(line('response_item', { type: 'function_call_output', call_id, output }))
    }
    return this.keep(place, asLines(all))
  },
  keep(place, text) {
    const { id } = firstLine(text).payload
    return keepFile(join(sessions(place), '2026', '02', '01', `rollout-2026-02-01T10-00-00-${id}.jsonl`), text)
  },
  placed(place, file) {
    const text = readFileSync(file, 'utf8')
    const { id } = firstLine(text).payload
    const looks = file.startsWith(sessions(place)) && basename(file).endsWith(`-${id}.jsonl`)
    return { file: looks ? file : this.keep(place, text), id }
  },
}
