"""Asks a server with LiteLLM, as its proxies and agents do, and fails if an answer is not as it expects: python litellm_client.py URL."""

import os
import sys
from importlib.metadata import version

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network for prices

import litellm

URL, KEY = sys.argv[1], "the-key-of-this-test"
MESSAGES = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello there"}]
OPENAI = dict(api_base=URL + "/v1", api_key=KEY, max_retries=0)
SETTINGS = dict(messages=MESSAGES, max_tokens=30, temperature=1.1, seed=3)


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


whole = litellm.completion(model="openai/tiny", **SETTINGS, **OPENAI)
check("usage", (whole.usage.completion_tokens, whole.choices[0].finish_reason), (30, "length"))
parts = list(litellm.completion(model="openai/tiny", stream=True, **SETTINGS, **OPENAI))
check("stream", "".join(p.choices[0].delta.content or "" for p in parts), whole.choices[0].message.content)

parameters = {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"], "additionalProperties": False}
tools = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
called = litellm.completion(model="openai/tools", messages=MESSAGES[1:], tools=tools, tool_choice="required", max_tokens=200, temperature=0.2, **OPENAI)
check("call", called.choices[0].message.tool_calls[0].function.name, "weather")

vectors = litellm.embedding(model="openai/bert-1", input=["the cat", "a dog"], **OPENAI)
check("vectors", [d["index"] for d in vectors.data], [0, 1])
ranks = litellm.rerank(model="cohere/reranker-bert-1", query="a cat", documents=["the cat", "a dog"], top_n=1, api_base=URL, api_key=KEY)
check("ranks", len(ranks.results), 1)

said = litellm.responses(model="openai/tiny", input="hello there", max_output_tokens=30, temperature=1.1, **OPENAI)
check("response", (said.status, said.output[0].type), ("incomplete", "message"))
claude = litellm.completion(model="anthropic/tiny", messages=MESSAGES, max_tokens=30, temperature=1.0, api_base=URL, api_key=KEY)
check("messages", (claude.usage.completion_tokens, claude.choices[0].finish_reason), (30, "length"))
llama = litellm.completion(model="ollama_chat/tiny", messages=MESSAGES, max_tokens=30, temperature=1.1, seed=3, api_base=URL, api_key=KEY)
check("Ollama's API", llama.choices[0].message.content, whole.choices[0].message.content)

try:
    litellm.completion(model="openai/none", **SETTINGS, **OPENAI)
    sys.exit("no error")
except litellm.NotFoundError as e:
    check("error", "none" in str(e), True)
print("all is as expected, with litellm", version("litellm"))
