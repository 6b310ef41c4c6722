#!/usr/bin/env python3
"""Makes renderings.json: what jinja2 renders of the templates in this folder, as transformers calls it.

usage: render.py > renderings.json
needs: pip install jinja2==3.1.6   (nothing else; messages and templates are in this folder)
"""
import json, os
import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

HERE = os.path.dirname(os.path.abspath(__file__))
TALKS = {
    "user": [("user", "Hello, world!")],
    "system": [("system", "You are terse."), ("user", "Why?")],
    "turns": [("system", " Be kind.\n"), ("user", "  One\n\n"), ("assistant", "Two "), ("user", "Three: {{ 1 + 1 }} {% if %} {# no #}")],
    "no system": [("user", "A"), ("assistant", "B"), ("user", "C"), ("assistant", "D <|im_end|> [INST] </s>")],
    "unicode": [("user", "\u00a0\u200bGrüße 你好 👩‍👩‍👧 \u2028 'quoted' \"double\" \\n <b>&amp;</b>")],
    "empty content": [("user", "")],
    "wrong order": [("user", "A"), ("user", "B")],
    "starts with assistant": [("assistant", "Hi")],
    "unknown role": [("tool", "42")],
    "no messages": [],
}

def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)

def main():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    env.globals |= dict(raise_exception=raise_exception, strftime_now=lambda f: "26 Jul 2024")
    env.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)
    rows = []
    for name in sorted(os.listdir(HERE)):
        if not name.endswith(".jinja"): continue
        template = env.from_string(open(os.path.join(HERE, name), encoding="utf-8").read())
        for talk, messages in TALKS.items():
            for prompt in (False, True):
                row = dict(template=name, talk=talk, messages=[dict(role=r, content=c) for r, c in messages], prompt=prompt)
                try: row["text"] = template.render(messages=row["messages"], add_generation_prompt=prompt, tools=None, documents=None, bos_token="<s>", eos_token="</s>")
                except jinja2.exceptions.TemplateError as e: row["error"] = str(e)
                rows.append(row)
    print("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]")

if __name__ == "__main__": main()
