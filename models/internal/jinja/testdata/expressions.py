#!/usr/bin/env python3
"""Makes expressions.json: what jinja2 makes of filters, tests, methods, operators and statements, a template and
its text in a line, or null where jinja2 has an error.

usage: expressions.py
needs: pip install jinja2==3.1.6
"""
import json, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../chattemplate/testdata"))
from render import environment

VARIABLES = {"d": {"b": 2, "A": {"k": 1}, "c": "x"}, "m": {"role": "user", "content": " line 1\nline 2\n"}, "l": [3, "two", None, 2.5], "s": "some Text, a"}

# values, and a number for which of the operations are applied to them: the last ones get fewer
VALUES = ['"abc"', '"  aX, b ,,c\\t"', '"a\\r\\nb\\rc\\n"', '"Ünï ß ﬁ ΑΣ 你a"', '"12"', '-3', '2.5', 'true', 'none', 'undef', '[3, 1, 2, 1]', '["b", "A", "a"]',
          '[{"a": 1, "b": "x"}, {"a": 0, "b": "X"}, {"b": "y"}]', '(1, "a")', '{"b": 1, "A": 2}', '{"a": {"b": [1]}}', 'range(4)', '[1, 2]|map("string")', '{"a": 1}.items()', '"<i>"|safe', '[]', '""', '{}', '0', 'namespace(a=1)']

# filters that make a text of a generator, which has an address of this run
TEXTUAL = ["capitalize", "center", "e", "format", "lower", "replace", "string", "striptags", "title", "trim", "upper", "urlencode", "wordcount", "attr"]

FILTERS = {
    "abs": [""], "attr": ['("upper")', '("a")'], "batch": ['(2)|list', '(3, "-")|list', '(linecount=0)|list'], "capitalize": [""], "center": ["", "(9)"], "count": [""],
    "default": ['("z")', '("z", true)', '(default_value=1, boolean=true)', "(x=1)"], "dictsort": ["", "(true)", '(by="value")', "(reverse=true)", '(by="x")'], "e": [""],
    "filesizeformat": ["", "(true)"], "first": [""], "float": ["", '("x")'], "format": ["", "(1)", '("x", a=1)'], "groupby": ['("a")', '("b", case_sensitive=true)', '("a", default=0)'],
    "indent": ["", '("> ", true)', "(width=2, blank=true)"], "int": ["", "(7)", "(base=16)", "(0, 2)"], "items": ["|list"], "join": ["", '(", ")', '("-", attribute="b")'], "last": [""],
    "length": [""], "list": [""], "lower": [""], "map": ['("upper")|list', '(attribute="a")|list', '(attribute="a", default=5)|list', '("nothing")|list', "()|list", '(attribute="a", x=1)|list', ""],
    "max": ["", '(attribute="a")'], "min": ["", "(case_sensitive=true)", '(attribute="b")'], "reject": ["|list", '("odd")|list'], "rejectattr": ['("a")|list', '("a", "equalto", 1)|list'],
    "replace": ['("a", "b")', '("", "-")', '("a", "b", 1)', '("a", "b", count=0)', '("a")'], "reverse": ["|list"], "round": ["", "(1)", "(-1)", '(1, "ceil")', '(method="floor")', '(0, "x")'],
    "select": ["|list", '("string")|list', '(">", 1)|list', '("nothing")|list'], "selectattr": ['("a")|list', '("b", "upper")|list', "|list"], "slice": ['(2)|list', '(3, "f")|list'],
    "sort": ["", "(true)", "(case_sensitive=true)", '(attribute="b")', '(attribute="b,a")', "(x=1)"], "string": [""], "striptags": [""], "sum": ["", '(attribute="a")', "(start=10)"],
    "title": [""], "tojson": ["", "(indent=2)", "(ensure_ascii=True)", '(separators=(",", ":"))', "(sort_keys=true)", '(indent="\\t")', "(x=1)"], "trim": ["", '("a ")', '(chars="c")'],
    "truncate": ["(5)", '(5, true, "!")', '(length=4, leeway=0, end="")', "(1)"], "unique": ["|list", "(true)|list", '(case_sensitive=true)|list', '(attribute="b")|list'], "upper": ["", "(1)"],
    "urlencode": [""], "wordcount": [""], "xmlattr": [""], "nothing": [""],
}
TESTS = ["defined", "undefined", "none", "boolean", "false", "true", "integer", "float", "lower", "upper", "string", "mapping", "number", "sequence", "iterable", "callable", "escaped", "odd", "even",
         "sameas(none)", "sameas(true)", "in([1, 'abc'])", "eq(1)", 'equalto "abc"', "ne(1)", "gt(1)", "ge 2", "lt(2)", "le(1)", "divisibleby(3)", "filter", "test", "nothing", "defined(1)"]
METHODS = {
    '"': ["strip()", 'strip("a ")', "strip(none)", 'strip(chars="a")', 'lstrip("ab")', 'rstrip("c")', "upper()", "upper(1)", "lower()", "casefold()", "swapcase()", "title()", "capitalize()", "split()", 'split(",")',
          "split(none, 1)", "split(maxsplit=1)", 'split(sep=",", maxsplit=1)', 'split("")', "rsplit(none, 1)", 'rsplit(",", 1)', "splitlines()", "splitlines(true)", 'startswith("a")', 'startswith(("x", "a"))', 'startswith("b", 1)',
          'startswith(prefix="a")', 'endswith("c", 0, -1)', 'endswith(("c", "\\n"))', 'replace("a", "b")', 'replace("", "-", 2)', 'replace("a", "b", count=1)', 'join(["x", "y"])', "join([1])", 'find("b")', 'find("b", 2)', 'find("", 99)',
          'rfind("a")', 'index("zz")', 'index("b")', 'count("a")', 'count("")', 'center(12, "*")', "ljust(8)", "rjust(8)", "zfill(6)", "expandtabs(4)", 'partition(",")', 'rpartition("b")', 'removeprefix("a")', 'removesuffix("c")',
          "isalpha()", "isalnum()", "isdigit()", "isdecimal()", "isnumeric()", "isspace()", "isupper()", "islower()", "istitle()", "isidentifier()", "isascii()", "isprintable()", "nothing()", "nothing", "__class__"],
    "{": ["items()", "items()|list", "keys()", "values()|list", 'get("a")', 'get("zz", 5)', 'get("a", default=1)', "copy()", "fromkeys([1, 2])", "update({})", "pop", "a", "nothing", "b"],
    "[": ["index(1)", 'index("zz")', "count(1)", "copy()", "append(1)", "nothing", "0"],
}
ITEMS = ["[0]", "[-1]", '["a"]', "[1:]", "[::-1]", "[9]", ".a", ".a.b", "[true]", "()"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "<", ">=", "in", "not in", "and", "or"]
OPERANDS = ['"abc"', "-3", "2.5", "7", "true", "none", "undef", "[1, 2]", "(1, 2)", '{"a": 1}', '""']

FORMATS = ["", "5", "<8", ">8", "^9", "*^9", "08", "+", " d", ",", "_", ".3", ".2f", "8.3f", "e", ".2e", "g", ".3g", "G", "%", "x", "#x", "#010b", "o", "c", "s", "5s", "=+9", "010,", "z.0f", "n", "{}", "q", "1000000000000"]
PERCENT = ["%s", "%r", "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%x", "%#X", "%o", "%c", "%f", "%.1f", "%8.2f", "%e", "%g", "%.3g", "%5s|", "%-5s|", "%.1s", "%%", "%i%%", "%*d", "%(a)s", "%q", "%", "%.3d", "%a", "%#.0f"]
NUMBERS = ["0", "-1", "12345678", "2.5", "-0.0", "1234567.891", "1e-7", "1e18", "true", '"abc"', "none"]

STATEMENTS = r'''
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (a, (b, c)) = [1, [2, 3]] %}{{ a }}{{ b }}{{ c }}
{% set n = namespace({"x": 1}, y=2) %}{% for i in range(3) %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}{{ n.y }}{{ n }}{{ n.z is defined }}
{% set n.x = 1 %}
{% set x | upper | trim %} a {% endset %}[{{ x }}]{% set n = namespace() %}{% set n.x %}b{% endset %}{{ n.x }}
{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }}{{ f(1, c=3) }}{{ f() }}{{ f(a=4, b=5) }}{{ f.name }}{{ f.arguments }}{{ f }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, 3, x=4) }}{{ f(*[5, 6], **{"y": 7}) }}{{ f(a=8) }}{{ f(9, a=9) }}
{% macro f(x) %}<{{ caller(x, y=2) }}>{% endmacro %}{% call(a, y=0) f(1) %}{{ a }}{{ y }}{% endcall %}{% call f(1) %}no{% endcall %}
{% macro f() %}{{ caller is defined }}{{ caller() if caller }}{% endmacro %}{{ f() }}{% call f() %}x{% endcall %}
{% macro f(n) %}{{ n }}{{ f(n - 1) if n > 0 }}{% endmacro %}{{ f(3) }}{% set x = 1 %}{% macro g() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ g() }}
{% for i in [1, 2, 3] %}{% macro h() %}{{ i }}{% endmacro %}{{ h() }}{% endfor %}
{% with a = 1, b = 2 %}{{ a + b }}{% set c = 3 %}{% endwith %}{{ a is defined }}{{ c is defined }}{% with %}x{% endwith %}
{% for a in [1, [2, [3]]] recursive %}{{ loop(a) if a is iterable else a }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}
{% for a in [1] %}{{ loop([1]) }}{% endfor %}
{% for a in [1, 1, 2] %}{{ loop.changed(a) }}{{ loop.cycle("x", "y") }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem is defined }}{{ loop.length }}{{ loop }}{% endfor %}
{% for a in [] %}x{% else %}empty{% endfor %}{% for a in undef %}x{% else %}undefined{% endfor %}{% for a in [1] %}{% break %}{% else %}broken{% endfor %}{% for a in [1] %}{% continue %}{% else %}continued{% endfor %}
{% for k, v in d|dictsort if v is not mapping %}{{ loop.index }}{{ k }}{{ v }}{% endfor %}{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for a in [1, 2] if a > 1: %}{{ a }}{% endfor %}{% if 1: %}x{% endif %}
{% set g = [1, 2, 3]|select("odd") %}{{ g is true }}{% if g %}T{% endif %}{{ g|first }}{{ g|list }}{{ g|list }}
{% set g = []|select %}{% if g %}T{% endif %}{{ g|list }}{{ none|map("upper")|list }}{{ none|selectattr("x")|list }}{{ 0|select("nothing")|list }}
{% set v = d.values() %}{{ v|length }}{{ v }}{{ d.keys() }}{{ d.items()|list|first }}{{ d.keys()[0] is defined }}
{{ [1, 2]|map("nothing") is defined }}{{ "x" if false else "y" }}{{ "x" if false }}{{ ("x" if false) is defined }}
{% if false %}{{ 1|nothing }}{{ nothing() }}{{ 1 is nothing }}{% include "x" %}{% endif %}fine
{{ dict([("x", 1)], y=2) }}{{ dict({"q": 1}, r=2) }}{{ dict(d, **m) }}{{ dict("ab") }}
{{ {(1, 2): 3}[(1, 2)] }}{{ {1: "a", true: "b", 1.0: "c"} }}{{ {none: 1}[none] }}{{ {[1]: 2} }}
{% set c = cycler("a", "b") %}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}{% set j = joiner() %}{{ j() }}x{{ j() }}y{{ j() }}{% set k = joiner("|") %}{{ k() }}{{ k() }}
{% filter upper | replace("A", "b") %}a{{ 1 }}x{% endfilter %}{% block here %}[{{ s }}]{% endblock %}{% print 1, "a" %}{% generation %}{% set q = 1 %}{{ q }}{% endgeneration %}{{ q is defined }}
{{ ("<" | e) + "<" }}{{ ("<" | safe) ~ "<" }}{{ "<" + ("<" | e) }}{{ ("<" | safe) * 2 }}{{ ("%s" | safe) % "<" }}{{ ("{}" | safe).format("<") }}{{ ("," | safe).join(["<", ">"]) }}{{ ("a" | safe).replace("a", "<") }}{{ ["<"|safe] }}
{{ "{} {} {0}".format(1, 2) }}
{{ "{0} {x} {1[0]} {2.a} {{}} {0!r} {x:>5} {0:{1[0]}}".format("a", [3], {"a": 1}, x="b") }}{{ "{a}".format_map({"a": 1}) }}
{{ dict([("x",1)]) }} {{ dict({"q":1}, r=2) }} {{ {"b":1,"a":2}|dictsort(by='value') }} {{ {"b":1,"A":2}|dictsort(reverse=true) }} {{ ["a","A"]|unique(case_sensitive=true)|list }} {{ "a\r\nb\rc".splitlines() }} {{ none|selectattr('x')|list }} {{ l|tojson(ensure_ascii=False) }}
{{ range(10)[2:8:3] }}{{ range(3)|list }}{{ range(5, 0, -2)|list }}{{ range(0) }}{{ 2 in range(3) }}{{ range(3) == range(0, 3) }}{{ range(3) == [0, 1, 2] }}
{{ 1 < 2 < 3 }}{{ 3 > 2 > 2 }}{{ 1 == 1.0 == true }}{{ [1, 2] < [1, 3] }}{{ (1,) == [1] }}{{ "a" < "B" }}{{ not 1 == 2 }}{{ 2 ** 3 ** 2 }}{{ -2 ** 2 }}{{ 7 // -2 }}{{ -7 % 3 }}{{ 7.5 // 2 }}{{ -7.5 % 2 }}{{ 9007199254740993 == 9007199254740992.0 }}
{{ 0x1F }}{{ 0b101 }}{{ 0o17 }}{{ 1_000 }}{{ 1e3 }}{{ 1.5e-3 }}{{ 1e22 }}{{ 123456789012345680.0 }}{{ 0.1 + 0.2 }}{{ 1e16 }}{{ 1e-5 }}{{ l.0 }}{{ [[1, [2]]].0.1.0 }}
{{ "a" "b" }}{{ 'it\'s' }}{{ "\x41\u00e9\101\n\\" }}{{ "\q" }}{{ ["it's", 'a"b', "a\\b", "\n\t\x00é\u200b"] }}
{{ m.role.upper() }}{{ m["role"] }}{{ m.items }}
{{ "abc"[::-1] }}{{ "abc"[-2:] }}{{ "abc"[5:] }}{{ l[1:] }}{{ l[::2] }}{{ (1, 2, 3)[:-1] }}{{ "abc"[1:2:1] }}
{{ raise_exception("stop") }}
{% for x in [1] %}[{{ s }}]{% endfor %}{% set s = 1 %}{% for x in [1] %}{{ s }}{% endfor %}
{% if d %}{% for x in [1] %}[{{ s }}]{% endfor %}{% set s = 1 %}{% endif %}{{ s }}{% if not d %}{% set l = 1 %}{% endif %}{{ l }}
{% set s %}<{{ s }}>{% endset %}[{{ s }}]{% set s = s ~ "!" %}{{ s }}
{{ s }}{% for x in [1] %}{{ s }}{% set s = 2 %}{{ s }}{% endfor %}{{ s }}{% set s = 3 %}{{ s }}
{% macro f() %}[{{ s }}]{% set s = 1 %}{{ s }}{% endmacro %}{{ f() }}{{ s }}{% macro s() %}x{% endmacro %}{{ s() }}
{% for x in [1, 2] %}{% for y in [1] %}[{{ s }}]{% endfor %}{% set s = x %}{% for y in [1] %}{{ s }}{% endfor %}{% endfor %}{{ s }}
{% with a = s, s = 5 %}{{ a }}{{ s }}{% macro g(a=s) %}{{ s }}{{ a }}{% endmacro %}{{ g() }}{% endwith %}{% call(s=1) f() %}{{ s }}{% endcall %}
{{ tojson is defined }}{{ range is callable }}{{ undef is callable }}{{ loop is defined }}{{ varargs is defined }}
'''


def templates():
    for v in VALUES:
        kind = v[0] if v[0] in METHODS else {"(": "[", "r": "["}.get(v[0], "")
        for name, all in FILTERS.items():
            for a in all:
                if "map(" not in v or name not in TEXTUAL:
                    yield "{{ (%s)|%s%s }}" % (v, name, a)
        for a in [] if "map(" in v else TESTS:
            yield "{{ (%s) is %s }}" % (v, a)
        for a in METHODS.get(kind, []):
            yield "{{ (%s).%s }}" % (v, a)
        for a in ITEMS:
            yield "{%% set v = %s %%}{{ v%s }}" % (v, a)
        yield "{%% if %s %%}T{%% else %%}F{%% endif %%}{{ %s }}{{ [%s] }}" % (v, v, v)
    for a in OPERANDS:
        for b in OPERANDS:
            for op in OPERATORS:
                yield "{{ (%s) %s (%s) }}" % (a, op, b)
    for n in NUMBERS:
        for f in FORMATS:
            yield "{{ '{:%s}'.format(%s) }}" % (f, n)
        for f in PERCENT:
            yield "{{ '%s' %% %s }}" % (f, n)
    yield from STATEMENTS.strip().split("\n")


def render(env, template):
    try:
        text = env.from_string(template).render(**VARIABLES)
    except Exception:
        return None
    # addresses of this run, and complex numbers, which package jinja does not have
    return None if re.search(r" at 0[xX]|bound method|j\)$", text) else text


def main():
    env, seen, lines = environment(), set(), []
    for t in templates():
        if t not in seen:
            seen.add(t)
            lines.append(json.dumps([t, render(env, t)], ensure_ascii=False))
    with open(os.path.join(HERE, "expressions.json"), "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
