// The scenes of all agents but Claude Code: sessions that the agent wrote are read, and sessions that were written are
// resumed in the agent.
//
// An agent is an object:
//   name, format        as people say them, and as the command does
//   tools               calls of its own that read a file, list files, fail, and wait
//   open                the calls of the scene that is killed in a tool which its file leaves without result
//   setup(place)        writes what it needs into the place and sets `place.env`
//   prompt(words), resume(session, words), fork(session, words)
//                       the words of a command line
//   found(place, said)  the session that it has just written: `{ id, file }`
//   items(body)         what a request holds
//   is_own(text)        whether the agent has put these words in by itself
//   by_hand(place, id, turns)
//                       writes a session from nothing where the agent keeps them, and returns its path
//   placed(place, file) the session in a file that was written; makes the agent know it
//   keep(place, text)   writes a whole session file where the agent keeps them, and returns its path
//   has_lines           whether a file is lines of JSON
//   compaction          a scene that makes it compact by itself
//   bare_id(id), bare_text(text)
//                       an id and the words of a result as they are sent, where its file has more

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { check, command, parting, path, PROMPT, run, sleep } from './common.mjs'
import { chat, lines } from './lists.mjs'

// What an agent, or the command, says for a result that was never written.
const NO_RESULT = /^(\[Tool execution was interrupted\]|No result provided|aborted|tool call interrupted; no result was recorded)$/
const SESSION = '01c1a2b3-0000-7000-8000-000000000001'
const OTHER = '01c1a2b3-0000-7000-8000-000000000002'
// How long an agent has for writing down what was done beside the call that waits.
const SETTLED = 1500

const hello = { say: 'first-prompt', turns: [{ text: 'hello one' }] }

// Sessions that the agent makes: what is said to it, and what the model answers.
const made = (agent) => ({
  'a prompt and its answer': { steps: [{ say: 'what-is-it', turns: [{ text: 'four', thought: 'two and two' }] }] },
  'calls side by side': {
    steps: [{ say: 'read-both', turns: [{ text: 'I look.', calls: [agent.tools.read('call_a'), agent.tools.list('call_b')] }, { text: 'both read' }] }],
  },
  'calls that fail': {
    steps: [{ say: 'read-none', turns: [{ calls: [agent.tools.fail('call_f')] }, { calls: [{ id: 'call_g', name: 'no_such_tool', args: { x: 1 } }] }, { text: 'not there' }] }],
  },
  'two prompts': { steps: [hello, { say: 'second-prompt', turns: [{ text: 'hello two' }] }] },
  'killed in a tool': {
    steps: [{ say: 'wait-long', kill: 'tool', turns: [{ text: 'I wait.', calls: [agent.tools.read('call_k'), agent.tools.wait('call_l')] }] }],
    open: agent.open,
  },
  'killed in an answer': { steps: [hello, { say: 'tell-me', kill: 'answer', turns: [{ text: 'half an answer', stall: true }] }] },
  'a compaction': agent.compaction,
  ...(agent.fork && { 'a fork': { steps: [hello, { say: 'second-prompt', fork: true, turns: [{ text: 'hello two' }] }] } }),
})

function fresh(judge, agent, options = {}) {
  const home = join(judge.folder, 'home')
  const project = join(home, 'project')
  rmSync(home, { recursive: true, force: true })
  mkdirSync(project, { recursive: true })
  writeFileSync(join(project, 'one.txt'), 'first file\n')
  // An agent that looks for a repository must not find ours.
  execFileSync('git', ['init', '--quiet', project], { env: { HOME: home, PATH: path } })
  const place = { ...judge, home, project, options }
  agent.setup(place)
  place.run = (words, until) => run([...judge.program, ...words], { cwd: project, env: place.env, until })
  return place
}

async function told(place, agent, session, step) {
  place.model.script(...step.turns)
  const begun = join(place.project, 'begun')
  let until
  if (step.kill === 'answer') until = place.model.stalled.then(() => sleep(SETTLED))
  if (step.kill === 'tool') until = seen(begun).then(() => sleep(SETTLED))
  const words = !session ? agent.prompt(step.say) : step.fork ? agent.fork(session, step.say) : agent.resume(session, step.say)
  const said = await place.run(words, until)
  if (!place.model.requests.length) throw new Error(`it did not ask the model and said: ${(said.out + said.err).slice(0, 300)}`)
  if (said.problem) throw new Error(`it ${said.problem} and said: ${(said.err || said.out).slice(0, 300)}`)
  return session && !step.fork ? { ...session, ...(await agent.found(place, said, session)) } : agent.found(place, said)
}

async function seen(file) {
  for (let tries = 0; tries < 600 && !existsSync(file); tries++) await sleep(100)
}

// What the agent sends before the prompt of the judge when it resumes the session.
async function resumed(place, agent, session) {
  place.model.script()
  const { out, err } = await place.run(agent.resume(session, PROMPT))
  const asked = place.model.requests.find(({ body }) => JSON.stringify(body).includes(PROMPT))
  if (!asked) throw new Error(`it did not ask the model and said: ${(out + err).slice(0, 300)}`)
  const items = [...agent.items(asked.body)]
  return items.slice(0, items.findLastIndex(({ text }) => text?.includes(PROMPT)))
}

// What the command reads in a file.
function reading(judge, file) {
  const words = ['sanitize', '--wire', 'openai-chat', '--format', 'openai-chat', '--quiet']
  const list = JSON.parse(command(judge.trunkline, words, { input: readFileSync(file), allowed: [0, 1] }))
  return [...chat(list.messages ?? list)]
}

const typed = (agent, items) => items.filter((item) => item.call !== undefined || item.result !== undefined || !agent.is_own?.(item.text))
const plain = (agent) => (item) => {
  const id = (id) => (id === undefined ? id : agent.bare_id?.(id) ?? id)
  return { ...item, call: id(item.call), result: id(item.result), ...(item.result !== undefined && agent.bare_text && { text: agent.bare_text(item.text) }) }
}
const compared = (agent, items) => typed(agent, items).map(plain(agent))

// Reads: what the agent wrote, by the command and by the agent itself.

async function reads(judge, agent, name, { steps, options, open = [], summary }) {
  const place = fresh(judge, agent, options)
  let session
  for (const step of steps) session = await told(place, agent, session, step)
  const audit = audited(judge, session.file)
  if (audit.error) return `the audit says: ${audit.error}`
  const unanswered = audit.violations.filter(({ violation }) => violation === 'unanswered').map(({ call_id }) => agent.bare_id?.(call_id) ?? call_id)
  if (unanswered.sort().join() !== open.join()) return `the audit finds ${unanswered.join() || 'no call'} without result, and it should find ${open.join() || 'none'}`
  // Who was killed in an answer may have left half of one.
  if (audit.broken && !steps.some(({ kill }) => kill)) return `the audit finds ${audit.violations[0]?.text}`
  const softened = (items) => lines(compared(agent, items).map((item) => (NO_RESULT.test(item.text) && item.result !== undefined ? { ...item, text: '(no result)' } : item)))
  let read = softened(reading(judge, session.file))
  let sent = softened(unique(await resumed(place, agent, session)))
  if (summary) {
    // Each says in words of its own that a summary follows; what comes after it must be the same.
    const behind = (list) => list.slice(list.findIndex((item) => item.includes(summary)) + 1)
    if (!read.some((item) => item.includes(summary))) return `the summary is not read: ${read.join(' | ').slice(0, 300)}`
    read = behind(read)
    sent = behind(sent)
  }
  return parting(read, sent, ['read', 'sent'])
}

function audited(judge, file) {
  const out = command(judge.trunkline, ['audit', '--json', file], { allowed: [0, 1, 3] })
  return out.trim().split('\n').map((line) => JSON.parse(line)).find(({ error, kind }) => error || kind === 'main') ?? { error: 'nothing' }
}

// Gemini CLI sends each result twice when it resumes a session of its own.
function unique(items) {
  const results = new Set()
  return items.filter(({ result }) => result === undefined || !(results.has(result) || !results.add(result)))
}

// Writes: what `trunkline repair` wrote, by the agent.

const itemsOf = (turns) => turns.flatMap(({ user, text, calls = [], results = {} }) => [
  { role: user ? 'user' : 'assistant', text: user ?? text },
  ...calls.map(({ id, name, args }) => ({ role: 'assistant', call: id, name, args })),
  ...Object.entries(results).map(([result, text]) => ({ result, text })),
])

const call = (id) => ({ id, name: 'look', args: { at: id } })
const turns = [
  { user: 'one' }, { text: 'two' }, { user: 'three' },
  { text: 'I look.', calls: [call('call_c'), call('call_d')], results: { call_c: 'it is there' } },
]
const answered = [
  { user: 'one' }, { text: 'I look.', calls: [call('call_a'), call('call_b')], results: { call_a: 'it is there', call_b: 'so is it' } },
  { text: 'both there' }, ...turns.slice(2),
]

// Without the command: what is wrong here is wrong in this judge.
async function takes(judge, agent) {
  const place = fresh(judge, agent)
  const whole = answered.slice(0, -2)
  return taken(place, agent, agent.by_hand(place, SESSION, whole), itemsOf(whole))
}

const torn = (text) => {
  const all = text.split('\n')
  all.splice(-2, 0, all.at(-2).slice(0, all.at(-2).length / 2))
  return all.join('\n')
}

const broken = (agent) => ({
  'a call without result': (place) => agent.by_hand(place, SESSION, turns),
  'calls and results, then one without': (place) => agent.by_hand(place, SESSION, answered),
  ...(agent.has_lines && {
    'half a line': (place) => {
      const file = agent.by_hand(place, SESSION, turns)
      writeFileSync(file, torn(readFileSync(file, 'utf8')))
      return file
    },
  }),
  ...(agent.open.length && {
    'its own, killed in a tool': async (place) => (await told(place, agent, undefined, made(agent)['killed in a tool'].steps[0])).file,
  }),
})

async function writes(judge, agent, make) {
  const place = fresh(judge, agent)
  const given = await make(place)
  const repaired = JSON.parse(command(judge.trunkline, ['repair', given, '--apply', '--json'], { cwd: place.home }))
  if (!repaired.written) return 'there was nothing to repair'
  return taken(place, agent, resolve(place.home, repaired.written))
}

// Puts a file where the agent looks, resumes it, and compares.
async function taken(place, agent, file, expected) {
  const written = lines(compared(agent, expected ?? reading(place, file)))
  if (!written.length) return 'nothing is read in what was written'
  const session = await agent.placed(place, file)
  return parting(written, lines(compared(agent, await resumed(place, agent, session))))
}

// From another format, where the command can write this one.

function writable(judge) {
  const help = command(judge.trunkline, ['help', 'export'], {})
  const about = help.split('--to <FORMAT>')[1]?.split(/^ {6}--/m)[0] ?? ''
  return [...about.matchAll(/^ +- ([\w-]+)/gm)].map(([, name]) => name)
}

async function crosses(judge, agent, from) {
  const place = fresh(judge, agent)
  const other = fresh({ ...judge, folder: join(judge.folder, 'other') }, from)
  // Whole: what an agent makes of an open call is judged elsewhere.
  const given = from.by_hand(other, OTHER, answered.slice(0, -2))
  const text = command(judge.trunkline, ['export', given, '--to', agent.format], { allowed: [0, 1] })
  return taken(place, agent, agent.keep(place, text), reading(judge, given))
}

export async function judged(judge, agent, agents) {
  const who = `${agent.name} ${judge.version}`
  await check(who, 'takes a session by hand', () => takes(judge, agent))
  for (const [name, scene] of Object.entries(made(agent))) await check(who, `reads ${name}`, () => reads(judge, agent, name, scene))
  for (const [name, make] of Object.entries(broken(agent))) await check(who, `writes ${name}`, () => writes(judge, agent, make))
  if (!writable(judge).includes(agent.format)) {
    console.log(`      ${who}  writes sessions of others: the command does not write this format yet`)
    return
  }
  for (const from of agents.filter((other) => other !== agent)) await check(who, `writes a session of ${from.name}`, () => crosses(judge, agent, from))
}
