// Asks a server with Vercel's AI SDK by its provider of open responses, and fails if an answer is not as it expects:
// node ai_sdk_client.mjs URL.

import { createOpenResponses } from '@ai-sdk/open-responses'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'

// The model of the test thinks and calls for ever, and the SDK has no limits for that.
const brief = (url, init) => fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), reasoning: { max_tokens: 4 }, parallel_tool_calls: false }) })
const settled = { url: process.argv[2] + '/v1/responses', apiKey: 'the-key-of-this-test' }
const provider = createOpenResponses({ name: 'attn', ...settled })
const thinker = createOpenResponses({ name: 'thinker', ...settled, fetch: brief })

function check(what, got, want) {
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    console.error(`${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`)
    process.exit(1)
  }
}

const settings = { model: provider('tiny'), system: 'be brief', prompt: 'hello there', maxOutputTokens: 30, temperature: 1.1, maxRetries: 0 }
const whole = await generateText(settings)
check('end', [whole.finishReason, whole.usage.outputTokens], ['length', 30])
const stream = streamText(settings)
let text = ''
for await (const part of stream.textStream) text += part
check('stream', [text, await stream.finishReason], [whole.text, 'length'])

let calls = 0
const weather = tool({
  description: 'the weather',
  inputSchema: jsonSchema({ type: 'object', properties: { city: { enum: ['Rome', 'Oslo'] } }, required: ['city'], additionalProperties: false }),
  execute: async ({ city }) => { calls++; return 'wet in ' + city },
})
for (const how of [generateText, streamText]) {
  const answer = how({ model: thinker('tools'), prompt: 'what', maxOutputTokens: 300, temperature: 0.2, maxRetries: 0, tools: { weather }, toolChoice: 'required', stopWhen: stepCountIs(1) })
  const made = how === streamText ? answer : await answer
  if (how === streamText) for await (const _ of made.fullStream);
  const list = await made.toolCalls
  check('calls', [list.length > 0, new Set(list.map(c => c.toolName)).size], [true, 1])
}
check('calls that were made', calls > 0, true)
console.log('all is as expected, with the AI SDK')
