// Lets the real client resume what `trunkline repair` wrote, and compares what it sends with what was written.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { check, command, parting, path, PROMPT, run } from './common.mjs'

const SESSION = '11111111-1111-4111-8111-111111111111'

// Sessions, each with something that a repair mends; most end in a call whose result was never written.

const uuid = (name) => `00000000-0000-4000-8000-${Buffer.from(name.padEnd(6)).toString('hex')}`
let clock = 0
const record = (id, parent, type, fields) => ({
  parentUuid: parent === null ? null : uuid(parent),
  isSidechain: false, userType: 'external', cwd: 'CWD', sessionId: SESSION, version: '2.1.42', gitBranch: '',
  type, ...fields, uuid: uuid(id), timestamp: new Date(Date.UTC(2026, 1, 1, 10, 0, clock++)).toISOString(),
})
const user = (id, parent, content) => record(id, parent, 'user', { message: { role: 'user', content } })
const model = (id, parent, message, ...content) =>
  record(id, parent, 'assistant', {
    requestId: `req_${message}`,
    message: {
      id: `msg_${message}`, type: 'message', role: 'assistant', model: 'claude-x', content,
      stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 },
    },
  })
const text = (words) => ({ type: 'text', text: words })
const call = (id) => ({ type: 'tool_use', id: `toolu_${id}`, name: 'Read', input: { file_path: id } })
const result = (id, words) => ({ type: 'tool_result', tool_use_id: `toolu_${id}`, content: words })
const line = (value) => `${JSON.stringify(value)}\n`
const lines = (...values) => values.map(line).join('')
const start = () => [user('u1', null, 'one'), model('a1', 'u1', 'm1', text('two'))]
const end = (parent) => model('e1', parent, 'e', call('end'))
const answer = (parent) => model('e1', parent, 'e', text('that is all'))
const changed = (records, change) => records.map((value, at) => ({ ...value, ...change(value, at) }))

const scenes = {
  'a call without result': () => lines(...start(), user('u2', 'a1', 'three'), end('u2')),
  'blank text beside a call': () =>
    lines(...start(), user('u2', 'a1', 'three'), model('b1', 'u2', 'm2', text('\n\n')),
      model('b2', 'b1', 'm2', call('c1')), user('r1', 'b2', [result('c1', 'one')]), end('r1')),
  'calls side by side': () =>
    lines(...start(), user('u2', 'a1', 'both'), model('b1', 'u2', 'm2', call('c1')),
      model('b2', 'b1', 'm2', call('c2')), user('r1', 'b1', [result('c1', 'one')]),
      user('r2', 'b2', [result('c2', 'two')]), model('a3', 'r1', 'm3', text('done')), user('u3', 'a3', 'more'), end('u3')),
  'a result and words in one record': () =>
    lines(...start(), user('u2', 'a1', 'both'), model('b1', 'u2', 'm2', call('c1')),
      model('b2', 'b1', 'm2', call('c2')), user('r1', 'b1', [result('c1', 'one'), text('and test it')]),
      user('r2', 'b2', [result('c2', 'two')]), end('r2')),
  'words queued in a turn': () =>
    lines(...start(), user('u2', 'a1', 'three'), model('b1', 'u2', 'm2', call('c1')),
      user('r1', 'b1', [result('c1', 'one')]),
      record('q1', 'r1', 'attachment', { attachment: { type: 'queued_command', prompt: 'use tabs', commandMode: 'prompt' } }),
      end('q1')),
  'two records on a line': () => {
    const [u1, a1] = start()
    return line(u1) + JSON.stringify(a1) + line(user('u2', 'a1', 'three')) + line(answer('u2'))
  },
  'a record behind half of one': () => {
    const [u1, a1] = start()
    const torn = JSON.stringify(user('x1', 'a1', 'lost'))
    return lines(u1, a1) + torn.slice(0, torn.length / 2) + line(user('u2', 'a1', 'three')) + line(end('u2'))
  },
  'an id for two records': () => {
    const hook = (parent) => record('X', parent, 'saved_hook_context', { content: [] })
    return lines(...start(), hook('a1'), user('u2', 'X', 'three'), model('a2', 'u2', 'm2', text('four')), hook('a2'),
      user('u3', 'X', 'five'), answer('u3'))
  },
  'lines in reverse': () => lines(...[...start(), user('u2', 'a1', 'three'), end('u2')].reverse()),
  'a missing parent': () => lines(...start(), user('u2', 'gone', 'three'), answer('u2')),
  'one time for all': () =>
    lines(...changed([...start(), user('u2', 'a1', 'three'), end('u2')], () => ({ timestamp: '2026-02-01T10:00:00.000Z' }))),
  'no times': () =>
    lines(...changed([...start(), user('u2', 'a1', 'three'), end('u2')], () => ({ timestamp: undefined }))),
  'times that run back': () =>
    lines(...changed([...start(), user('u2', 'a1', 'three'), end('u2')], (_, at) => ({ timestamp: `2026-02-0${9 - at}T10:00:00.000Z` }))),
  'an orphan result': () => lines(...start(), user('u2', 'a1', [result('gone', 'what?')]), user('u3', 'u2', 'three'), end('u3')),
  'a compaction': () =>
    lines(...start(),
      { ...record('b1', null, 'system', { subtype: 'compact_boundary', content: 'Conversation compacted', compactMetadata: { trigger: 'auto', preTokens: 9 } }), logicalParentUuid: uuid('a1') },
      { ...user('u2', 'b1', 'what was said'), isCompactSummary: true, isVisibleInTranscriptOnly: true },
      user('u3', 'u2', 'go on'), end('u3')),
}

// Both lists as items in order, without what the client adds of its own.

// What a client says where a session ends on the user's side.
const OWN = ['Continue from where you left off.', 'No response requested.']
const QUEUED = 'The user sent a new message while you were working:\n'
const REMINDER = /\s*<system-reminder>[\s\S]*?<\/system-reminder>\s*/g
const blocks = (content) => (typeof content === 'string' ? [text(content)] : content)
const queued = (words) => {
  const at = words.indexOf(QUEUED)
  return at < 0 ? [] : [words.slice(at + QUEUED.length).split('\n\n')[0].trim()]
}
function* items(messages) {
  for (const { role, content } of messages) {
    // The newer client says in this role what it adds; of that only words of the person stand in the file.
    if (role === 'system') {
      for (const block of blocks(content)) for (const words of queued(block.text ?? '')) yield ['user', 'text', words]
      continue
    }
    for (const block of blocks(content)) {
      const words = block.type === 'text' ? block.text : block.type === 'tool_result' ? flat(block.content) : ''
      const plain = words.replace(REMINDER, '').trim()
      if (block.type === 'tool_use') yield [role, 'call', block.id, block.name, JSON.stringify(block.input)]
      else if (block.type === 'tool_result') yield [role, 'result', block.tool_use_id, plain]
      else if (block.type === 'text' && plain) yield [role, 'text', plain]
      else if (block.type !== 'text') yield [role, block.type]
      for (const more of queued(words)) yield ['user', 'text', more]
    }
  }
}
const flat = (content) => blocks(content ?? '').map((part) => part.text ?? part.type).join('\n')
const told = (messages) => [...items(messages)].map((item) => item.join(' · '))

// One scene in one client.

async function resumed({ model, program }, home, project, id) {
  model.script()
  const env = {
    HOME: home, PATH: path, ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: model.url,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_TELEMETRY: '1', DISABLE_AUTOUPDATER: '1', NO_PROXY: '127.0.0.1',
  }
  const { out, err } = await run([...program, '-p', '--resume', id, PROMPT], { cwd: project, env })
  const asked = model.requests.find(({ body }) => JSON.stringify(body.messages).includes(PROMPT))
  if (!asked) throw new Error(`it did not ask the model and said: ${(out + err).slice(0, 300)}`)
  const sent = told(asked.body.messages)
  sent.length = sent.findLastIndex((item) => item.endsWith(PROMPT))
  while (OWN.some((words) => sent.at(-1)?.endsWith(` · ${words}`))) sent.pop()
  return sent
}

async function scene(judge, name) {
  const home = join(judge.folder, 'home')
  const project = join(judge.folder, 'project')
  rmSync(home, { recursive: true, force: true })
  const place = join(home, '.claude', 'projects', project.replace(/[^A-Za-z0-9]/g, '-'))
  for (const made of [place, project]) mkdirSync(made, { recursive: true })
  const given = join(place, `${SESSION}.jsonl`)
  clock = 0
  writeFileSync(given, scenes[name]().replaceAll('"CWD"', JSON.stringify(project)))
  const options = { env: { HOME: home, PATH: path } }
  const repaired = JSON.parse(command(judge.trunkline, ['repair', given, '--apply', '--json'], options))
  if (!repaired.written) throw new Error('there was nothing to repair')
  const input = readFileSync(repaired.written)
  const list = command(judge.trunkline, ['sanitize', '--wire', 'anthropic', '--quiet'], { ...options, input })
  const written = told(JSON.parse(list).messages)
  // A list must not end with the assistant, so the pipe has put in what comes next.
  if (written.at(-1) === 'user · text · continue') written.pop()
  const id = repaired.written.match(/([^/]+)\.jsonl$/)[1]
  return parting(written, await resumed(judge, home, project, id))
}

export async function judge(judge) {
  for (const name of Object.keys(scenes)) await check(`claude ${judge.version}`, name, () => scene(judge, name))
}
