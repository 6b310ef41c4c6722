"""Asks a server with OpenAI's own client and fails if an answer is not as it expects: python openai_client.py URL."""

import asyncio
import sys
from array import array

import openai

URL = sys.argv[1]
client = openai.OpenAI(base_url=URL + "/v1", api_key="the-key-of-this-test", max_retries=0)
messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello there"}]
settings = dict(model="tiny", messages=messages, max_tokens=40, temperature=1.1, seed=3)


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


check("models", [m.id for m in client.models.list()], ["tiny", "bert-1", "reranker-bert-1", "tools"])
check("model", client.models.retrieve("bert-1").id, "bert-1")

whole = client.chat.completions.create(**settings, n=2, logprobs=True, top_logprobs=2)
first = whole.choices[0]
check("role", first.message.role, "assistant")
check("usage", whole.usage.prompt_tokens + whole.usage.completion_tokens, whole.usage.total_tokens)
check("fingerprint", whole.system_fingerprint[:3], "fp_")
check("logprobs", len(first.logprobs.content[0].top_logprobs), 2)
again = client.chat.completions.create(**settings, n=2, logprobs=True, top_logprobs=2)
check("again", again.choices, whole.choices)

texts, ends, usage = ["", ""], ["", ""], None
for event in client.chat.completions.create(**settings, n=2, stream=True, stream_options={"include_usage": True}):
    usage = event.usage or usage
    for c in event.choices:
        texts[c.index] += c.delta.content or ""
        ends[c.index] = c.finish_reason or ends[c.index]
check("stream", texts, [c.message.content for c in whole.choices])
check("ends", ends, [c.finish_reason for c in whole.choices])
check("usage of the stream", usage, whole.usage)

plain = client.completions.create(model="tiny", prompt=["once", "upon"], max_tokens=8, logprobs=1)
check("completions", [c.index for c in plain.choices], [0, 1])
check("their logprobs", len(plain.choices[0].logprobs.tokens) > 0, True)

default = client.embeddings.create(model="bert-1", input=["the cat", "a dog"])  # the client asks for base64
floats = client.embeddings.create(model="bert-1", input=["the cat", "a dog"], encoding_format="float")
check("vectors", [array("f", d.embedding) for d in default.data], [array("f", d.embedding) for d in floats.data])
check("dimensions", len(client.embeddings.create(model="bert-1", input="the cat", dimensions=7).data[0].embedding), 7)

ask = dict(model="tiny", instructions="be brief", input="hello there", max_output_tokens=30, temperature=1.1)
first = client.responses.create(**ask)
check("response", (first.status, first.incomplete_details.reason, first.output[0].role, len(first.output_text) > 0), ("incomplete", "max_output_tokens", "assistant", True))
with client.responses.stream(**ask, store=False) as stream:
    parts = list(stream)
numbers = [event.sequence_number for event in parts]
check("response of a stream", "".join(e.delta for e in parts if e.type == "response.output_text.delta"), first.output_text)
check("numbers", numbers, list(range(len(numbers))))
form = {"format": {"type": "json_schema", "name": "five", "schema": {"const": 5}, "strict": True}}
with client.responses.stream(**ask, text=form) as stream:
    for _ in stream:
        pass
    check("form", stream.get_final_response().output_text, "5")
second = client.responses.create(**dict(ask, input="go on"), previous_response_id=first.id)
check("what was said", second.usage.input_tokens > first.usage.input_tokens, True)
check("kept", client.responses.retrieve(first.id).output_text, first.output_text)
client.responses.delete(first.id)
SCHEMA = {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"], "additionalProperties": False}
forced = dict(model="tools", temperature=0.2, max_output_tokens=300, input="what", reasoning={"effort": "low"}, parallel_tool_calls=False)
called = client.responses.create(**forced, tools=[{"type": "function", "name": "weather", "parameters": SCHEMA, "strict": True}], tool_choice="required", extra_body={"reasoning": {"max_tokens": 4}})
call = [item for item in called.output if item.type == "function_call"][0]
check("call", (called.status, call.name, call.arguments.replace(" ", "").replace("\n", "")[:8]), ("completed", "weather", '{"city":'))
history = [{"role": "user", "content": "what"}, *called.output, {"type": "function_call_output", "call_id": call.call_id, "output": "wet"}]
after = client.responses.create(model="tools", input=history, max_output_tokens=5)
check("after the call", after.usage.input_tokens > called.usage.input_tokens, True)

for status, body in ((openai.NotFoundError, dict(settings, model="none")), (openai.BadRequestError, dict(settings, max_tokens=-2))):
    try:
        client.chat.completions.create(**body)
        sys.exit(f"no {status.__name__}")
    except status as e:
        check("error", (e.body["type"], bool(e.body["message"])), ("invalid_request_error", True))
try:
    openai.OpenAI(base_url=URL + "/v1", api_key="wrong", max_retries=0).models.list()
    sys.exit("a wrong key is accepted")
except openai.AuthenticationError:
    pass


async def at_once():
    many = openai.AsyncOpenAI(base_url=URL + "/v1", api_key="the-key-of-this-test")
    return await asyncio.gather(*(many.chat.completions.create(**dict(settings, seed=i % 4)) for i in range(16)))


answers = [a.choices[0].message.content for a in asyncio.run(at_once())]
for i in range(4, 16):
    check(f"answer {i}", answers[i], answers[i % 4])
print("openai", openai.__version__, "is content")
