// opencode: a database; its sessions come and go as exports.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepFile, path, seconds } from './common.mjs'
import { chat } from './lists.mjs'

const words = ['run', '--format', 'json']
const tokens = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } }

async function exported(place, id) {
  const { out, err } = await place.run(['export', id])
  if (!out) throw new Error(`it exports nothing and says: ${err.slice(0, 300)}`)
  return keepFile(join(place.home, `${id}.json`), out)
}

export const agent = {
  name: 'opencode',
  format: 'opencode',
  open: ['call_l'],
  tools: {
    read: (id) => ({ id, name: 'read', args: { filePath: 'one.txt' } }),
    list: (id) => ({ id, name: 'bash', args: { command: 'ls', description: 'List files' } }),
    fail: (id) => ({ id, name: 'read', args: { filePath: 'none.txt' } }),
    wait: (id) => ({ id, name: 'bash', args: { command: 'touch begun; sleep 30', description: 'Wait' } }),
  },
  compaction: {
    options: { window: 20_000 },
    steps: [
      { say: 'first-prompt', turns: [{ text: 'hello one' }] },
      { say: 'second-prompt', turns: [{ text: 'hello two', tokens: 19_000 }, { text: 'what was said' }, { text: 'hello three' }] },
    ],
    summary: 'what was said',
  },
  setup(place) {
    const limit = { context: place.options.window ?? 128_000, output: 4096 }
    const provider = {
      npm: '@ai-sdk/openai-compatible', name: 'Judge', options: { baseURL: `${place.model.url}/v1`, apiKey: 'none' },
      models: { scripted: { name: 'Scripted', tool_call: true, limit, cost: { input: 1, output: 1 } } },
    }
    const settings = {
      model: 'judge/scripted', small_model: 'judge/scripted', autoupdate: false, share: 'disabled', permission: { '*': 'allow' },
      enabled_providers: ['judge'], provider: { judge: provider },
    }
    const inside = (name) => join(place.home, name)
    keepFile(join(inside('config'), 'opencode', 'opencode.json'), JSON.stringify(settings))
    place.env = {
      HOME: place.home, PATH: path, XDG_DATA_HOME: inside('data'), XDG_CONFIG_HOME: inside('config'), XDG_STATE_HOME: inside('state'),
      XDG_CACHE_HOME: inside('cache'), OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    }
  },
  prompt: (text) => [...words, text],
  // The provider that a session of others names is not set up here.
  resume: ({ id }, text) => [...words, '-m', 'judge/scripted', '-s', id, text],
  fork: ({ id }, text) => [...words, '-s', id, '--fork', text],
  async found(place, { out }) {
    const id = out.match(/"sessionID":"(ses_\w+)"/)?.[1]
    if (!id) throw new Error(`it names no session: ${out.slice(0, 300)}`)
    return { id, file: await exported(place, id) }
  },
  items: (body) => chat(body.messages),
  by_hand(place, name, turns) {
    const times = seconds()
    const end = Buffer.from(name).toString('hex').slice(-14)
    let count = 0
    const id = (kind) => `${kind}_${(0x19c1_7d00_0000 + count++ * 0x1000).toString(16)}${end}`
    const sessionID = id('ses')
    const info = {
      id: sessionID, slug: 'by-hand', projectID: 'global', directory: place.project, path: '', title: 'By hand', agent: 'build',
      model: { id: 'scripted', providerID: 'judge' }, version: place.version, time: { created: Date.UTC(2026, 1, 1, 10), updated: Date.UTC(2026, 1, 1, 10) },
    }
    const messages = []
    let asked
    for (const { user, text, calls = [], results = {} } of turns) {
      const created = times.next().value.getTime()
      const messageID = id('msg')
      const part = (fields) => ({ id: id('prt'), sessionID, messageID, ...fields })
      const own = { id: messageID, sessionID }
      if (user) {
        asked = messageID
        messages.push({ info: { ...own, role: 'user', time: { created }, agent: 'build', model: { providerID: 'judge', modelID: 'scripted' } }, parts: [part({ type: 'text', text: user })] })
        continue
      }
      const time = { start: created, end: created }
      const state = ({ id, name, args: input }) => (id in results
        ? { status: 'completed', input, output: results[id], title: name, metadata: {}, time }
        : { status: 'running', input, time: { start: created } })
      messages.push({
        info: {
          ...own, role: 'assistant', parentID: asked, mode: 'build', agent: 'build', path: { cwd: place.project, root: place.project }, cost: 0, tokens,
          modelID: 'scripted', providerID: 'judge', time: { created, completed: created }, finish: calls.length ? 'tool-calls' : 'stop',
        },
        parts: [
          part({ type: 'step-start' }), part({ type: 'text', text, time }), ...calls.map((call) => part({ type: 'tool', tool: call.name, callID: call.id, state: state(call) })),
          part({ type: 'step-finish', reason: calls.length ? 'tool-calls' : 'stop', cost: 0, tokens }),
        ],
      })
    }
    return this.keep(place, JSON.stringify({ info, messages }, null, 2))
  },
  keep: (place, text) => keepFile(join(place.home, 'given.json'), text),
  async placed(place, file) {
    const { out, err, problem } = await place.run(['import', file])
    if (problem || !out.includes('Imported')) throw new Error(`it does not import the file: ${(err || out).slice(0, 300)}`)
    return { id: JSON.parse(readFileSync(file, 'utf8')).info.id, file }
  },
}
