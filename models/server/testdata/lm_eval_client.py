"""Asks a server of one model as lm-eval does, for logarithms of prompts and for texts, and fails if they are not as it expects:
python lm_eval_client.py URL."""

import os
import sys
from importlib.metadata import version

from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI

KEY = os.environ["OPENAI_API_KEY"] = "the-key-of-this-test"


def check(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


def ask(kind, arguments):
    return [Instance(request_type=kind, doc={}, arguments=a, idx=i) for i, a in enumerate(arguments)]


settings = dict(base_url=sys.argv[1] + "/v1/completions", model="tiny", auth_token=KEY, max_length=100)
pairs = ask("loglikelihood", [("once upon", " a time"), ("once upon", " the"), ("hello", " there")])
lists = []
for size in 1, 3:
    model = LocalCompletionsAPI(batch_size=size, **settings)  # finds the server's tokenizer by itself
    check("tokenizer", model.tokenizer_backend, "remote")
    lists.append(model.loglikelihood(pairs, disable_tqdm=True))
    check("texts", len(model.generate_until(ask("generate_until", [("once", {"until": ["zz"], "max_gen_toks": 9})]), disable_tqdm=True)), 1)
check("one by one and together", lists[0], lists[1])
check("logarithms", all(value < 0 for value, _ in lists[0]), True)
print("all is as expected, with lm-eval", version("lm_eval"))
