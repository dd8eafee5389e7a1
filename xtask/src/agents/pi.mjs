// pi: a tree of entries in a file, resumed by its path.

import { join } from 'node:path'
import { asLines, filesIn, firstLine, keepFile, path, seconds } from './common.mjs'
import { chat } from './lists.mjs'

const sessions = (place) => join(place.home, '.pi', 'agent', 'sessions')
const words = ['--provider', 'judge', '--model', 'judge/scripted']
const usage = {
  input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
}

export const agent = {
  name: 'pi',
  format: 'pi',
  has_lines: true,
  open: ['call_k', 'call_l'],
  tools: {
    read: (id) => ({ id, name: 'read', args: { path: 'one.txt' } }),
    list: (id) => ({ id, name: 'bash', args: { command: 'ls' } }),
    fail: (id) => ({ id, name: 'read', args: { path: 'none.txt' } }),
    wait: (id) => ({ id, name: 'bash', args: { command: 'touch begun; sleep 30' } }),
  },
  compaction: {
    options: { window: 8000 },
    steps: [
      { say: 'first-prompt-'.repeat(30), turns: [{ text: 'hello one', tokens: 1500 }] },
      { say: 'second-prompt-'.repeat(30), turns: [{ text: 'hello two', tokens: 7500 }, { text: 'what was said' }] },
    ],
    summary: 'what was said',
  },
  setup(place) {
    const folder = join(place.home, '.pi', 'agent')
    const model = {
      id: 'scripted', name: 'Scripted', reasoning: false, input: ['text'], cost: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
      contextWindow: place.options.window ?? 128_000, maxTokens: 4096,
    }
    const providers = { judge: { baseUrl: `${place.model.url}/v1`, apiKey: 'none', api: 'openai-completions', models: [model] } }
    keepFile(join(folder, 'models.json'), JSON.stringify({ providers }))
    keepFile(join(folder, 'settings.json'), JSON.stringify({ compaction: { enabled: true, reserveTokens: 1000, keepRecentTokens: 20 } }))
    place.env = { HOME: place.home, PATH: path, PI_OFFLINE: '1' }
  },
  prompt: (text) => [...words, '-p', text],
  resume: ({ file }, text) => [...words, '--session', file, '-p', text],
  fork: ({ file }, text) => [...words, '--fork', file, '-p', text],
  found: (place) => ({ file: filesIn(sessions(place), /\.jsonl$/).at(-1) }),
  items: (body) => chat(body.messages),
  by_hand(place, id, turns) {
    const times = seconds()
    const all = [{ type: 'session', version: 3, id, timestamp: '2026-02-01T10:00:00.000Z', cwd: place.project }]
    const add = (message) => {
      const time = times.next().value
      const before = all.length > 1 ? all.at(-1).id : null
      all.push({
        type: 'message', id: (0xa000_0000 + all.length).toString(16), parentId: before, timestamp: time.toISOString(), message: { ...message, timestamp: time.getTime() },
      })
    }
    for (const { user, text, calls = [], results = {} } of turns) {
      if (user) add({ role: 'user', content: [{ type: 'text', text: user }] })
      else add({
        role: 'assistant', content: [{ type: 'text', text }, ...calls.map(({ id, name, args }) => ({ type: 'toolCall', id, name, arguments: args }))],
        api: 'openai-completions', provider: 'judge', model: 'scripted', usage, stopReason: calls.length ? 'toolUse' : 'stop',
      })
      for (const [toolCallId, text] of Object.entries(results)) {
        const { name } = calls.find(({ id }) => id === toolCallId)
        add({ role: 'toolResult', toolCallId, toolName: name, content: [{ type: 'text', text }], isError: false })
      }
    }
    return this.keep(place, asLines(all))
  },
  keep(place, text) {
    const folder = `-${place.project.replaceAll('/', '-')}--`
    return keepFile(join(sessions(place), folder, `2026-02-01T10-00-00-000Z_${firstLine(text).id}.jsonl`), text)
  },
  placed: (place, file) => ({ file }),
}
