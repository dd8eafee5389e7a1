// The scripted model: a server on the loopback that speaks the wires of all agents.
//
// It answers each request of a conversation with the next turn of a script, and with one word when the script is at its
// end. A turn is `{ text, calls: [{ id, name, args }], tokens, stall }`; one that stalls begins its answer and never ends
// it. What an agent asks beside the conversation (a title, a route) gets a fitting answer and takes no turn.

import { createServer } from 'node:http'

export const DONE = { text: 'done' }
const MODEL = 'scripted'

export async function startModel() {
  const model = { turns: [], requests: [], others: [], stalled: null }
  let onStall = () => {}
  model.script = (...turns) => {
    model.turns = turns
    model.requests = []
    model.others = []
    model.stalled = new Promise((done) => (onStall = done))
  }
  model.script()
  const server = createServer(async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    let body = {}
    try { body = JSON.parse(Buffer.concat(parts).toString()) } catch { /* what is no JSON is no request of a model */ }
    const wire = wires.find(({ path }) => path.test(request.url))
    const side = wire ? wire.side?.(body, request.url) : '{}'
    if (side) {
      model.others.push({ url: request.url, body })
      return send(response, 'application/json', side)
    }
    const title = wire.title?.(body)
    if (title) model.others.push({ url: request.url, body })
    else model.requests.push({ url: request.url, body })
    const turn = title ? { text: 'A title' } : model.turns.shift() ?? DONE
    if (!wire.streams(body, request.url)) return send(response, 'application/json', JSON.stringify(wire.whole(turn, body)))
    const events = wire.events(turn, body, model.requests.length)
    if (!turn.stall) return send(response, 'text/event-stream', events.join(''))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(events.slice(0, wire.beginning(turn)).join(''), () => onStall())
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  model.url = `http://127.0.0.1:${server.address().port}`
  model.stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return model
}

const send = (response, type, body) => response.writeHead(200, { 'content-type': type }).end(body)
const calls = (turn) => turn.calls ?? []
const tokens = (turn) => turn.tokens ?? 10
const said = (value) => JSON.stringify(value ?? '')

const named = (event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const unnamed = (event) => `data: ${JSON.stringify(event)}\n\n`

const messages = {
  path: /\/messages/,
  side: (_, url) => url.includes('count_tokens') && '{"input_tokens":1}',
  streams: (body) => body.stream,
  whole: (turn, body) => ({
    id: 'msg_judge', type: 'message', role: 'assistant', model: body.model, stop_sequence: null,
    content: [{ type: 'text', text: turn.text }], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 },
  }),
  events: (turn, body) => [
    { type: 'message_start', message: { ...messages.whole(turn, body), content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: turn.text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ].map(named),
  beginning: () => 3,
}

const responses = {
  path: /\/responses/,
  streams: () => true,
  events(turn, body, count) {
    const id = `resp_${count}`
    const output = []
    if (turn.thought) output.push({ type: 'reasoning', id: `rs_${count}`, summary: [{ type: 'summary_text', text: turn.thought }], encrypted_content: 'c2NyaXB0ZWQ=' })
    if (turn.text) output.push({ type: 'message', id: `msg_${count}`, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: turn.text, annotations: [] }] })
    for (const { id, name, args } of calls(turn)) output.push({ type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args), status: 'completed' })
    const usage = {
      input_tokens: tokens(turn), input_tokens_details: { cached_tokens: 0 },
      output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: tokens(turn) + 2,
    }
    const events = [{ type: 'response.created', response: { id, status: 'in_progress', model: body.model } }]
    output.forEach((item, output_index) => {
      if (item.type === 'message') {
        events.push({ type: 'response.output_item.added', output_index, item: { ...item, content: [], status: 'in_progress' } })
        events.push({ type: 'response.output_text.delta', item_id: item.id, output_index, content_index: 0, delta: turn.text })
      }
      events.push({ type: 'response.output_item.done', output_index, item })
    })
    events.push({ type: 'response.completed', response: { id, status: 'completed', model: body.model, output, usage } })
    return events.map((event, sequence_number) => named({ ...event, sequence_number }))
  },
  beginning: (turn) => (turn.text ? 3 : 2),
}

const chat = {
  path: /\/chat\/completions/,
  title: (body) => said(body.messages?.[0]?.content).includes('title generator'),
  streams: (body) => body.stream,
  usage: (turn) => ({ prompt_tokens: tokens(turn), completion_tokens: 2, total_tokens: tokens(turn) + 2 }),
  calls: (turn) => calls(turn).map(({ id, name, args }, index) => ({ index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } })),
  reason: (turn) => (calls(turn).length ? 'tool_calls' : 'stop'),
  whole: (turn, body) => ({
    id: 'chatcmpl-judge', object: 'chat.completion', created: 1, model: body.model, usage: chat.usage(turn),
    choices: [{ index: 0, finish_reason: chat.reason(turn), message: { role: 'assistant', content: turn.text ?? null, ...(calls(turn).length && { tool_calls: chat.calls(turn) }) } }],
  }),
  events(turn, body, count) {
    const part = (delta, finish_reason = null) => ({
      id: `chatcmpl-${count}`, object: 'chat.completion.chunk', created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason }],
    })
    const parts = [part({ role: 'assistant', content: '' })]
    if (turn.thought) parts.push(part({ reasoning_content: turn.thought }))
    if (turn.text) parts.push(part({ content: turn.text }))
    for (const call of chat.calls(turn)) parts.push(part({ tool_calls: [call] }))
    parts.push({ ...part({}, chat.reason(turn)), usage: chat.usage(turn) })
    return [...parts.map(unnamed), 'data: [DONE]\n\n']
  },
  beginning: (turn) => (turn.text ? 2 : 1) + (turn.thought ? 1 : 0),
}

const gemini = {
  path: /:(streamGenerateContent|generateContent|countTokens)/,
  // Side questions are not streamed. Those with a schema want JSON; one object answers all that were seen.
  side: (body, url) => {
    if (url.includes(':countTokens')) return '{"totalTokens":10}'
    if (url.includes(':streamGenerateContent')) return undefined
    const schema = body.generationConfig?.responseJsonSchema ?? body.generationConfig?.responseSchema
    const text = schema ? JSON.stringify(filled(schema)) : 'A summary'
    return JSON.stringify(gemini.whole({ text }))
  },
  streams: (_, url) => url.includes(':streamGenerateContent'),
  part: (parts, finishReason) => ({ candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason && { finishReason }) }], modelVersion: MODEL }),
  usage: (turn) => ({ promptTokenCount: tokens(turn), candidatesTokenCount: 2, totalTokenCount: tokens(turn) + 2 }),
  whole: (turn) => ({ ...gemini.part([{ text: turn.text }], 'STOP'), usageMetadata: gemini.usage(turn) }),
  events(turn) {
    const parts = []
    if (turn.thought) parts.push(gemini.part([{ text: turn.thought, thought: true }]))
    if (turn.text) parts.push(gemini.part([{ text: turn.text }]))
    if (calls(turn).length) parts.push(gemini.part(calls(turn).map(({ id, name, args }) => ({ functionCall: { id, name, args } }))))
    const last = parts.pop() ?? gemini.part([{ text: '' }])
    last.candidates[0].finishReason = 'STOP'
    return [...parts, { ...last, usageMetadata: gemini.usage(turn) }].map(unnamed)
  },
  beginning: (turn) => (turn.text ? 1 : 0) + (turn.thought ? 1 : 0),
}

// The least value that a schema takes.
function filled(schema) {
  if (schema.enum) return schema.enum[0]
  const type = String(schema.type).toLowerCase()
  if (type === 'object') return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, inner]) => [name, filled(inner)]))
  if (type === 'array') return []
  if (type === 'boolean') return false
  return type === 'number' || type === 'integer' ? 1 : 'a word'
}

const wires = [messages, responses, chat, gemini]
