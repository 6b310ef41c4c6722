#!/usr/bin/env python3
"""Makes renderings.json and calls.json: what jinja2 renders of the templates in this folder, as transformers calls it.

usage: render.py        writes renderings.json, of conversations of plain messages
       render.py calls  writes calls.json, of conversations with tools, calls and reasoning, for calls-*.jinja
needs: pip install jinja2==3.1.6   (nothing else; messages and templates are in this folder)
"""
import datetime, json, os, sys
import jinja2, jinja2.ext, jinja2.nodes
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


def tool(name, description, required, **properties):
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {"type": "object", "properties": properties, "required": required}}}


TOOLS = [
    tool("weather", "The weather\nof a city: <b>ünïcode</b>", ["city"], city={"type": "string", "description": "Its 'name' & land"}, unit={"enum": ["c", "f"]},
         days={"type": ["integer", "null"], "default": 3}),
    tool("now", "The time", []),
    tool("add", "", ["of"], of={"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "number"}]}}, round={"type": "boolean"}),
]


def call(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


CALLS = {
    "question": [{"role": "user", "content": "Is it warm?"}],
    "call": [{"role": "system", "content": " Be kind. /no_think"}, {"role": "user", "content": "Is it warm in Paris?"},
             {"role": "assistant", "content": None, "tool_calls": [call("a1", "weather", {"city": 'Paris "x"', "days": 2, "unit": None, "more": [1, 2.5, True]}), call("a2", "now", {})]},
             {"role": "tool", "tool_call_id": "a1", "name": "weather", "content": '{"celsius": 20}'}, {"role": "tool", "tool_call_id": "a2", "content": "noon"}],
    "answered": [{"role": "user", "content": "Is it warm?"}, {"role": "assistant", "content": "Let me see.", "tool_calls": [call("a1", "weather", '{"city": "Rome"}')]},
                 {"role": "tool", "tool_call_id": "a1", "content": "20"}, {"role": "assistant", "content": "Yes.", "reasoning_content": "20 is\nwarm."}, {"role": "user", "content": "Thanks"}],
    "reasoning": [{"role": "user", "content": "1 + 1?"}, {"role": "assistant", "content": "<think>\nSo.\n</think>\n\n2"}, {"role": "user", "content": "And 2 + 2?"},
                  {"role": "assistant", "content": "4", "thinking": "Twice that."}],
    "parts": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "What is"}, {"type": "image"}, {"type": "text", "text": "this?"}]}],
    "unknown role": [{"role": "critic", "content": "No."}],
    "no messages": [],
}


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


class Generation(jinja2.ext.Extension):
    """The tag generation, whose body is printed as it is."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("body"), [], [], body).set_lineno(line)

    def body(self, caller):
        return caller()


def environment():
    """Returns an environment as transformers makes it, whose date is that of package chattemplate."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    env.globals |= dict(raise_exception=raise_exception, strftime_now=datetime.datetime(2024, 7, 26).strftime)
    env.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    return env


def render(template, **variables):
    """Returns the text, or what the template raises."""
    try:
        return {"text": template.render(documents=None, bos_token="<s>", eos_token="</s>", **variables)}
    except jinja2.exceptions.TemplateError as e:
        return {"error": str(e)}


def templates(calls):
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".jinja") and name.startswith("calls-") == calls:
            yield name, environment().from_string(open(os.path.join(HERE, name), encoding="utf-8").read())


def write(name, text):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as f:
        f.write(text + "\n")


def rows():
    for name, template in templates(False):
        for talk, messages in TALKS.items():
            for prompt in (False, True):
                row = dict(template=name, talk=talk, messages=[dict(role=r, content=c) for r, c in messages], prompt=prompt)
                yield json.dumps(row | render(template, messages=row["messages"], add_generation_prompt=prompt, tools=None))


def calls():
    for name, template in templates(True):
        for talk, messages in CALLS.items():
            for tools in (None, TOOLS):
                for thinking in (None, False):
                    more = {} if thinking is None else {"enable_thinking": thinking}
                    row = dict(template=name, talk=talk, tools=tools is not None, variables=more)
                    yield json.dumps(row | render(template, messages=messages, add_generation_prompt=True, tools=tools, **more))


def main():
    if sys.argv[1:] == ["calls"]:
        write("calls.json", '{"talks": %s,\n"tools": %s,\n"rows": [\n%s\n]}' % (json.dumps(CALLS), json.dumps(TOOLS), ",\n".join(calls())))
    else:
        write("renderings.json", "[\n" + ",\n".join(rows()) + "\n]")


if __name__ == "__main__":
    main()
