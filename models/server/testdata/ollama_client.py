"""Asks a server with Ollama's own client and fails if an answer is not as it expects: python ollama_client.py URL."""

import sys
from importlib.metadata import version

import ollama

client = ollama.Client(host=sys.argv[1], headers={"Authorization": "Bearer the-key-of-this-test"})
OPTIONS = {"num_predict": 30, "temperature": 1.1, "seed": 3}
MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello there"}]


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


check("models", [m.model for m in client.list().models], ["tiny", "bert-1", "reranker-bert-1", "tools"])
check("loaded", [m.model for m in client.ps().models], ["tiny", "bert-1", "reranker-bert-1", "tools"])
check("show", "completion" in client.show("tiny").capabilities, True)

whole = client.chat(model="tiny", messages=MESSAGES, options=OPTIONS)
check("done", (whole.done, whole.done_reason, whole.message.role, whole.eval_count), (True, "length", "assistant", 30))
parts = list(client.chat(model="tiny:latest", messages=MESSAGES, options=OPTIONS, stream=True))
check("stream", "".join(p.message.content or "" for p in parts), whole.message.content)
check("its end", [p.done for p in parts], [False] * (len(parts) - 1) + [True])

raw = client.generate(model="tiny", prompt="once", raw=True, options=OPTIONS)
check("raw stream", "".join(p.response for p in client.generate(model="tiny", prompt="once", raw=True, options=OPTIONS, stream=True)), raw.response)
check("load", client.generate(model="tiny", keep_alive=-1).done_reason, "load")
check("format", client.generate(model="tiny", prompt="x", format={"const": 5}).response, "5")

several = client.embed(model="bert-1", input=["the cat", "a dog"])
check("vectors", len(several.embeddings), 2)
check("one vector", list(client.embeddings(model="bert-1", prompt="a dog").embedding), list(several.embeddings[1]))


def weather(city: str) -> str:
    """The weather of a city.

    Args:
      city: its name
    """
    return "wet"


answer = client.chat(model="tools", messages=[{"role": "user", "content": "what"}], tools=[weather], think=True, options=OPTIONS)
check("thinking", bool(answer.message.thinking), True)
call = {"function": {"name": "weather", "arguments": {"city": "Rome"}}}
history = [{"role": "user", "content": "what"}, {"role": "assistant", "content": "", "tool_calls": [call]}, {"role": "tool", "tool_name": "weather", "content": "wet"}]
check("after a call", client.chat(model="tools", messages=history, tools=[weather], options=OPTIONS).prompt_eval_count > answer.prompt_eval_count, True)

for body, status in ((dict(model="none", messages=MESSAGES), 404), (dict(model="tiny", messages=MESSAGES, options={"mirostat": 1}), 400)):
    try:
        client.chat(**body)
        sys.exit("no error")
    except ollama.ResponseError as e:
        check("error", (e.status_code, bool(e.error)), (status, True))
print("all is as expected, with ollama", version("ollama"))
