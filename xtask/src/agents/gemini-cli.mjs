// Gemini CLI: a log of messages and of changes to them.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { asLines, filesIn, firstLine, keepFile, path, seconds } from './common.mjs'
import { gemini } from './lists.mjs'

const chats = (place) => join(place.home, '.gemini', 'tmp', 'project', 'chats')
const words = ['--skip-trust', '--approval-mode', 'yolo']
const long = (say) => `${say}-`.repeat(800)

export const agent = {
  name: 'gemini-cli',
  format: 'gemini-cli',
  has_lines: true,
  // Calls are written when their results are there.
  open: [],
  tools: {
    read: (id) => ({ id, name: 'read_file', args: { file_path: 'one.txt' } }),
    list: (id) => ({ id, name: 'run_shell_command', args: { command: 'ls', description: 'list' } }),
    fail: (id) => ({ id, name: 'read_file', args: { file_path: 'none.txt' } }),
    wait: (id) => ({ id, name: 'run_shell_command', args: { command: 'touch begun; sleep 30' } }),
  },
  compaction: {
    options: { model: { compressionThreshold: 0.001 } },
    // The summary is asked for beside the conversation.
    steps: [{ say: long('first-prompt'), turns: [{ text: 'hello one', tokens: 900_000 }] }, { say: 'second-prompt', turns: [{ text: 'hello two' }] }],
    summary: 'A summary',
  },
  setup(place) {
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false }, telemetry: { enabled: false },
      general: { enableAutoUpdate: false }, ...place.options,
    }
    keepFile(join(place.home, '.gemini', 'settings.json'), JSON.stringify(settings))
    keepFile(join(place.home, '.gemini', 'projects.json'), JSON.stringify({ projects: { [place.project]: 'project' } }))
    keepFile(join(place.home, '.gemini', 'tmp', 'project', '.project_root'), place.project)
    place.env = {
      HOME: place.home, PATH: path, GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: place.model.url, GEMINI_CLI_TRUST_WORKSPACE: 'true', TERM: 'dumb',
    }
  },
  prompt: (text) => [...words, '-p', text],
  resume: ({ id }, text) => [...words, '--resume', id, '-p', text],
  // A resume in another minute leaves a file with nothing in it, so a session keeps its own.
  found(place, _, session) {
    if (session) return session
    const file = filesIn(chats(place), /^session-.*\.jsonl?$/).at(-1)
    return { file, id: firstLine(readFileSync(file, 'utf8')).sessionId }
  },
  items: (body) => gemini(body.contents),
  // The second stands between results and the next prompt.
  is_own: (text) => /^\s*(<session_context>|\[The previous response was interrupted before it completed\.\])/.test(text),
  // Its file has the tool's name before the id.
  bare_id: (id) => id.replace(/^.*?__/, ''),
  bare_text(text) {
    try {
      const { output, error } = JSON.parse(text)
      return output ?? error ?? text
    } catch { return text }
  },
  by_hand(place, id, turns) {
    const times = seconds()
    const startTime = '2026-02-01T10:00:00.000Z'
    const projectHash = createHash('sha256').update(place.project).digest('hex')
    const all = [{ sessionId: id, projectHash, startTime, lastUpdated: startTime, kind: 'main' }]
    for (const { user, text, calls = [], results = {} } of turns) {
      const timestamp = times.next().value.toISOString()
      const message = { id: `00000000-0000-4000-8000-${String(all.length).padStart(12, '0')}`, timestamp }
      if (user) all.push({ ...message, type: 'user', content: [{ text: user }] })
      else all.push({ ...message, type: 'gemini', content: text, thoughts: [], model: 'scripted', ...(calls.length && { toolCalls: calls.map(called(timestamp, results)) }) })
      all.push({ $set: { lastUpdated: timestamp } })
    }
    return this.keep(place, asLines(all))
  },
  keep(place, text) {
    const id = firstLine(text).sessionId
    return keepFile(join(chats(place), `session-2026-02-01T10-00-${id.slice(0, 8)}.jsonl`), text)
  },
  placed(place, file) {
    const text = readFileSync(file, 'utf8')
    const looks = file.startsWith(chats(place)) && /^session-.*\.jsonl?$/.test(basename(file))
    return { file: looks ? file : this.keep(place, text), id: firstLine(text).sessionId }
  },
}

const called = (timestamp, results) => ({ id: bare, name, args }) => {
  const id = `${name}__${bare}`
  const call = { id, name, args, timestamp, displayName: name, description: '' }
  if (!(bare in results)) return { ...call, status: 'executing' }
  return { ...call, status: 'success', result: [{ functionResponse: { id, name, response: { output: results[bare] } } }] }
}
