// The lists of each wire as items in order, in words that can be compared.
//
// An item is `{ role, text }`, `{ role, call, name, args }` or `{ result, text }`. System words are no items: they are the
// agent's own.

const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]))
}
const parsed = (text) => {
  try { return JSON.parse(text) } catch { return text }
}
const parts = (content) => (typeof content === 'string' ? [{ text: content }] : content ?? [])
const flat = (content) => parts(content).map((part) => part.text ?? part.type).join('\n')

export function* chat(messages) {
  for (const { role, content, tool_calls, tool_call_id } of messages) {
    if (role === 'tool') yield { result: tool_call_id, text: flat(content) }
    else if (role !== 'system' && role !== 'developer') for (const part of parts(content)) yield { role, text: part.text ?? `(${part.type})` }
    for (const { id, function: called } of tool_calls ?? []) yield { role, call: id, name: called.name, args: parsed(called.arguments) }
  }
}

export function* responses(input) {
  for (const item of input) {
    if (item.type === 'function_call') yield { role: 'assistant', call: item.call_id, name: item.name, args: parsed(item.arguments) }
    else if (item.type === 'function_call_output') yield { result: item.call_id, text: flat(item.output) }
    else if (item.role && item.role !== 'developer' && item.role !== 'system') for (const part of parts(item.content)) yield { role: item.role, text: part.text ?? `(${part.type})` }
  }
}

export function* gemini(contents) {
  for (const { role, parts } of contents) {
    for (const { text, thought, functionCall, functionResponse } of parts) {
      if (functionCall) yield { role: 'assistant', call: functionCall.id, name: functionCall.name, args: functionCall.args }
      else if (functionResponse) yield { result: functionResponse.id, text: said(functionResponse.response) }
      else if (text !== undefined && !thought) yield { role: role === 'model' ? 'assistant' : role, text }
    }
  }
}
const said = (response) => response?.output ?? response?.error ?? JSON.stringify(response)

// Items as lines. What a wire may do either way is one here: words of a role that follow each other are one text, white
// space is a space, and results stand in the order of their calls.
export function lines(items) {
  const calls = []
  const kept = []
  for (const item of items) {
    if (item.call !== undefined) calls.push(item.call)
    const text = item.text?.replace(/\s+/g, ' ').trim()
    const last = kept.at(-1)
    if (item.call === undefined && item.result === undefined) {
      if (!text) continue
      if (last && last.role === item.role && last.call === undefined && last.result === undefined) last.text += ` ${text}`
      else kept.push({ ...item, text })
    } else kept.push({ ...item, text })
  }
  for (let from = 0; from < kept.length; from++) {
    let to = from
    while (kept[to]?.result !== undefined) to++
    if (to > from + 1) kept.splice(from, to - from, ...kept.slice(from, to).sort((one, other) => calls.indexOf(one.result) - calls.indexOf(other.result)))
    from = Math.max(from, to)
  }
  return kept.map(({ role, call, name, args, result, text }) => {
    if (call !== undefined) return `${role} · call · ${call} · ${name} · ${JSON.stringify(sorted(args))}`
    return result !== undefined ? `result · ${result} · ${text}` : `${role} · text · ${text}`
  })
}
