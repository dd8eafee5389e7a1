// What all judges share: processes, the command, and lists of items that are compared.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// One word: opencode puts quotes around several.
export const PROMPT = 'the-next-prompt-of-the-judge'
const PATIENCE = 120_000

const running = new Set()
const stop = (child, signal = 'SIGKILL') => {
  try { process.kill(-child.pid, signal) } catch { /* it has ended */ }
}
process.on('exit', () => running.forEach((child) => stop(child)))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1))

// Runs a program to its end, or kills it and what it started when `until` comes true. Returns what it said.
export async function run(words, { cwd, env, until }) {
  const child = spawn(words[0], words.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  running.add(child)
  let out = ''
  let err = ''
  child.stdout.on('data', (part) => (out += part))
  child.stderr.on('data', (part) => (err += part))
  const patience = setTimeout(() => stop(child), PATIENCE)
  const ended = new Promise((done) => {
    child.on('error', (problem) => done(`could not start: ${problem.message}`))
    child.on('close', (code, signal) => done(code === 0 ? null : `ended with ${code ?? signal}`))
  })
  if (until) until.then(() => stop(child))
  const problem = await ended
  clearTimeout(patience)
  running.delete(child)
  return { out, err, problem: until ? null : problem }
}

export const sleep = (time) => new Promise((done) => setTimeout(done, time))
export const path = process.env.PATH

// Runs the command; its exit code says what it found, so it is no error.
export function command(trunkline, words, options) {
  const { allowed = [0], ...rest } = options
  try {
    return execFileSync(trunkline, words, { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'], ...rest })
  } catch (problem) {
    if (allowed.includes(problem.status)) return problem.stdout
    throw new Error(`\`trunkline ${words[0]}\` said: ${(problem.stderr || problem.stdout || problem.message).trim().split('\n')[0]}`)
  }
}

// Tells where two lists part; nothing if they are one.
export function parting(written, sent, [was, is] = ['written', 'sent']) {
  let place = written.findIndex((item, at) => item !== sent[at])
  if (place < 0 && sent.length > written.length) place = written.length
  const short = (item) => (item === undefined ? 'nothing' : item.slice(0, 300))
  return place < 0 ? null : `item ${place} was ${was} as ${short(written[place])} and ${is} as ${short(sent[place])}`
}

// Runs one check and prints its line.
export async function check(who, name, body) {
  try {
    const problem = await body()
    console.log(problem ? `FAIL  ${who}  ${name}: ${problem}` : `ok    ${who}  ${name}`)
  } catch (problem) {
    console.log(`FAIL  ${who}  ${name}: ${String(problem.message ?? problem).split('\n')[0]}`)
  }
}

// The files of a folder and those below, the one written last at the end.
export function filesIn(folder, named) {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder, { recursive: true }).filter((name) => named.test(name))
  const files = names.map((name) => join(folder, name))
  return files.sort((one, other) => statSync(one).mtimeMs - statSync(other).mtimeMs)
}

// Times a second apart, for sessions written by hand.
export function* seconds() {
  for (let at = 0; ; at++) yield new Date(Date.UTC(2026, 1, 1, 10, 0, at))
}

export const asLines = (values) => values.map((value) => `${JSON.stringify(value)}\n`).join('')

export function keepFile(file, text) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

export const firstLine = (text) => JSON.parse(text.split('\n', 1)[0])
