"""Asks a server with Anthropic's own client and fails if an answer is not as it expects: python anthropic_client.py URL."""

import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1], api_key="the-key-of-this-test", max_retries=0)
SCHEMA = {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"], "additionalProperties": False}


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


settings = dict(model="tiny", max_tokens=30, system="be brief", messages=[{"role": "user", "content": "hello there"}], extra_body={"temperature": 1.1})
whole = client.messages.create(**settings)
check("type", (whole.type, whole.role, whole.content[0].type, whole.stop_reason), ("message", "assistant", "text", "max_tokens"))
check("again", client.messages.create(**settings).content, whole.content)
with client.messages.stream(**settings) as stream:
    text = "".join(stream.text_stream)
    final = stream.get_final_message()
check("stream", (text, final.content[0].text, final.usage.output_tokens), (whole.content[0].text, whole.content[0].text, whole.usage.output_tokens))
count = client.messages.count_tokens(model="tiny", system="be brief", messages=settings["messages"])
check("count", count.input_tokens, whole.usage.input_tokens)

tools = dict(
    model="tools", max_tokens=200, extra_body={"temperature": 1.1}, messages=[{"role": "user", "content": "what"}],
    tools=[{"name": "weather", "description": "the weather", "input_schema": SCHEMA, "strict": True}], tool_choice={"type": "tool", "name": "weather", "disable_parallel_tool_use": True},
    thinking={"type": "enabled", "budget_tokens": 4},
)
called = client.messages.create(**tools)
use = [b for b in called.content if b.type == "tool_use"][0]
check("call", (called.stop_reason, called.content[0].type, use.name, use.input["city"] in ("Rome", "Oslo")), ("tool_use", "thinking", "weather", True))
with client.messages.stream(**tools) as stream:
    for _ in stream:
        pass
    streamed = stream.get_final_message()
check("streamed call", [b.model_dump() for b in streamed.content], [b.model_dump() for b in called.content])
result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "wet"}]}
after = client.messages.create(model="tools", max_tokens=20, tools=tools["tools"], messages=tools["messages"] + [{"role": "assistant", "content": called.content}, result])
check("after the call", after.usage.input_tokens > called.usage.input_tokens, True)

for status, body in ((anthropic.NotFoundError, dict(settings, model="none")), (anthropic.BadRequestError, dict(settings, extra_body={"temperature": -1})), (anthropic.BadRequestError, dict(settings, max_tokens=0))):
    try:
        client.messages.create(**body)
        sys.exit(f"no {status.__name__}")
    except status as e:
        check("error", (e.body["type"], bool(e.body["error"]["message"])), ("error", True))
try:
    anthropic.Anthropic(base_url=sys.argv[1], api_key="wrong", max_retries=0).messages.create(**settings)
    sys.exit("a wrong key is accepted")
except anthropic.AuthenticationError:
    pass
print("all is as expected, with anthropic", anthropic.__version__)
