package chattemplate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/testweights"
)

func TestSyntaxErrors(t *testing.T) {
	for _, test := range []struct {
		template string
		line     int
		message  string
	}{
		{"a\n{% if x %}b", 2, `want the end of "if"`},
		{"{{ 1 + }}", 1, "want an expression"},
		{"\n\n{{ x", 3, "a tag that does not end"},
		{"{# x", 1, "a comment that does not end"},
		{"{{ 'x }}", 1, "a string that does not end"},
		{"{% raw %}x", 1, "a raw block that does not end"},
		{"{{ x ! y }}", 1, "'!'"},
		{"{% endfor %}", 1, `block "endfor"`},
		{"{% nothing 'x' %}", 1, `block "nothing"`},
		{"{{ f(a=1, a=2) }}", 1, "no second argument a"},
		{"{{ f(**a, b) }}", 1, "as ** comes last"},
		{"{% call 1 %}{% endcall %}", 1, "want a call before"},
		{"{% for x y %}{% endfor %}", 1, `want "in"`},
		{"{% set if = 1 %}", 1, "want a name"},
		{"{% break %}", 1, "break outside of a loop"},
		{"{{ x[] }}", 1, "want an index"},
		{"{{ x[1:2:3:4] }}", 1, "want"},
		{"{{ f(a=1, 2) }}", 1, "want an argument with a name"},
		{"{{ 99999999999999999999 }}", 1, "want an integer of 64 bits"},
		{`{{ "\uzzzz" }}`, 1, "the escape sequence"},
		{strings.Repeat("{{ ((((((((((((((((", 10), 1, ""},
		{"{{ " + strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200) + " }}", 1, "nested deeper than"},
		{"{{ " + strings.Repeat("-", 200) + "1 }}", 1, "nested deeper than"},
		{strings.Repeat("{% if 1 %}", 200), 1, "nested deeper than"},
		{strings.Repeat("x", 1<<17), 1, "131072 bytes, want at most"},
	} {
		_, err := chattemplate.New(test.template)
		if !isError(err, chattemplate.ErrSyntax, fmt.Sprint("line ", test.line), test.message) {
			t.Errorf("%.60q: got error %v, want one of line %d: %s", test.template, err, test.line, test.message)
		}
	}
}

// isError tells whether err is a *kernel.Error of a kind about arg, whose text has message.
func isError(err, kind error, arg, message string) bool {
	bad, ok := errors.AsType[*kernel.Error](err)
	return ok && errors.Is(err, kind) && bad.Arg() == arg && strings.Contains(err.Error(), message)
}

func TestRenderErrors(t *testing.T) {
	for template, message := range map[string]string{
		"{{ messages[0].role + 1 }}":                       "a string + an integer",
		"{{ nothing.x }}":                                  "nothing, which is not defined",
		"{{ nothing() }}":                                  "cannot be called",
		"{{ 1 // 0 }}":                                     "division by zero",
		"{{ 9223372036854775807 + 1 }}":                    "64 bits",
		"{{ 2 ** 64 }}":                                    "64 bits",
		"{% for x in 3 %}{% endfor %}":                     "cannot be gone through",
		"{{ 'a' < 1 }}":                                    "have no order",
		"{{ [messages, 1] | sort }}":                       "have no order",
		"{% set a, b = [1] %}":                             "1 values for 2 names",
		"{% set x.y = 1 %}":                                "no namespace",
		"{{ 'a'.replace(1, 2) }}":                          "want a string",
		"{{ 'a' | replace('b') }}":                         "lacks the argument new",
		"{{ 'a' | trim('x', 'y') }}":                       "at most 1",
		"{{ 'a' | trim(x='y') }}":                          "argument x",
		"{{ [1] | map('nothing') | list }}":                `filter "nothing"`,
		"{{ 1 | nothing }}":                                `filter "nothing"`,
		"{{ 1 is nothing }}":                               `test "nothing"`,
		"{% include 'x' %}":                                `block "include"`,
		"{{ [1] | random }}":                               "the same messages have the same text",
		"{{ 'a'.encode() }}":                               "the method encode",
		"{{ (5).real }}":                                   "the attribute real",
		"{{ {}.update({}) }}":                              "cannot be called",
		"{{ range(100001) }}":                              "more than 100000",
		"{{ [1] | map('upper') }}":                         "cannot be printed",
		"{{ strftime_now(x='%Y') }}":                       "an argument x",
		"{{ {'a': 1} | tojson(x=1) }}":                     "an argument x",
		"{% set n = namespace(_x=1) %}":                    "begins with _",
		"{{ range }}":                                      "cannot be printed",
		"{{ {[1]: 2} }}":                                   "cannot be a key",
		"{{ strftime_now('%Q') }}":                         `"%Q"`,
		"{{ [1, 2][::0] }}":                                "step 0",
		"{{ 'abc'.split('') }}":                            "empty separator",
		"{% macro f(x) %}{{ x.y }}{% endmacro %}{{ f() }}": "x, which is not defined",
	} {
		render(t, template, message)
	}
}

// render checks that rendering fails with a message.
func render(t *testing.T, template, message string) {
	t.Helper()
	parsed, err := chattemplate.New(template)
	if err != nil {
		t.Errorf("%.100q: %v", template, err)
		return
	}
	got, err := parsed.Render(talk("user", "Hello"), true)
	if !isError(err, chattemplate.ErrRender, "line 1", message) {
		t.Errorf("%.100q: got %.100q and error %v, want one of line 1 with %q", template, got, err, message)
	}
}

// Templates that would take all time, memory or stack end with an error.
func TestHostile(t *testing.T) {
	const work = "more work than a template may do"
	for template, message := range map[string]string{
		"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}":                                                       "evaluations nested deeper than",
		"{% for i in (range(99999) | list) * 20000 %}{% endfor %}":                                              work,
		"{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}":                          work,
		"{{ 'a' * 1000000000000 }}":                                                                             work,
		"{{ [1] * 9223372036854775807 }}":                                                                       work,
		"{{ '' * 9223372036854775807 }}":                                                                        work,
		"{{ [] * 9223372036854775807 }}":                                                                        work,
		"{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}":          work,
		"{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}":           work,
		"{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}": work,
		"{% set n = namespace(x=[1], y=[1]) %}{% for i in range(99) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}": work,
		"{% set n = namespace(x=[1]) %}{% for i in range(999) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x }}":                                             "values nested deeper than",
		"{% set x = 'a' * 9999999 %}{{ x | replace('a', x) }}":                                                                                          work,
		"{% set x = 'a' * 999999 %}{{ x.replace('', x) }}{{ x | list | join(x) }}":                                                                      work,
		"{{ 'a' | indent(2000000000) }}{{ ('a\n' * 99999) | indent(99999) }}":                                                                           work,
		"{% set x = range(99999) | list %}{% for i in range(99999) %}{% if -1 in x %}{% endif %}{% endfor %}":                                           work,
		"{% for i in range(999) %}{{ range(99999) | unique | list }}{% endfor %}":                                                                       work,
		"{% set x = 'a' * 999999 %}{% for i in range(99999) %}{{ x | length }}{{ x | upper }}{% endfor %}":                                              work,
		"{% set x = 'a' * 999999 %}{% for i in range(99999) %}{% if x == x or x < x or x.find('b') %}{% endif %}{% endfor %}":                           work,
	} {
		render(t, template, message)
	}
}

// Long messages, which raise the limits, do not help such templates.
func TestHostileWithLongMessages(t *testing.T) {
	const work = "more work than a template may do"
	content := strings.Repeat("user x\n", 60_000)
	parts := "{% set p = ([messages[0].role, 'x'] * 100000) | join %}"
	for template, want := range map[string]string{ // texts, or messages of errors
		"{% set n = namespace(x='') %}{% for i in range(60000) %}{% set n.x = " + strings.Repeat("(", 90) + "n.x" + strings.Repeat(", 1)", 90) + " %}{% endfor %}{{ [n.x] | sort }}": "values nested deeper than",
		"{{ '' * 400000000 }}": work,
		"{% set c = messages[0].content %}{% for i in range(99999) %}{{ c.strip(c ~ 'a') }}{{ c.split(c) | length }}{% if c ~ 'a' == c ~ 'b' or c in {c: 1} == 'b' %}{% endif %}{% endfor %}": work,
		"{% set c = messages[0].content %}{{ c.strip(c) }}{{ c.split('\n') | length }} {{ c.splitlines() | length }} {{ c.split() | length }}":                                                "60001 60000 120000",
		parts + "{{ p.split('x') | length }}":                          "100001",
		parts + "{{ (p | replace('x', ' ')).split() | length }}":       "100000",
		parts + "{{ (p | replace('x', '\n')).splitlines() | length }}": "100000",
		"{{ range(2147483000, 2147483647, 1000) | list }}":             "[2147483000]",
	} {
		parsed, err := chattemplate.New(template)
		if err != nil {
			t.Fatalf("%.100q: %v", template, err)
		}
		got, err := parsed.Render(talk("user", content), true)
		if got != want && !isError(err, chattemplate.ErrRender, "line 1", want) {
			t.Errorf("%.100q: got %.100q and error %v, want %q", template, got, err, want)
		}
	}
}

func TestCancel(t *testing.T) {
	parsed, err := chattemplate.New("{% for i in range(9) %}x{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := parsed.Parts(ctx, nil, true); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

// What a message says is never read as a template.
func TestContentIsText(t *testing.T) {
	content := "{{ 1 + 1 }}{% raise %}{# #}{%- endfor -%}"
	got, err := parse(t, "smollm2.jinja").Render(talk("system", content), false)
	if want := "<|im_start|>system\n" + content + "<|im_end|>\n"; err != nil || got != want {
		t.Errorf("got %q and error %v, want %q", got, err, want)
	}
}

func TestVariables(t *testing.T) {
	opts := options
	opts.Variables = map[string]any{"a": "x", "b": true, "c": 3, "d": 1.5, "e": nil}
	template, err := chattemplate.NewWith("{{ a }} {{ b }} {{ c }} {{ d }} {{ e }} {{ strftime_now('%d %b %Y, %H:%M:%S %p %j 100%%') }}", opts)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := template.Render(nil, false); err != nil || got != "x True 3 1.5 None 26 Jul 2024, 00:00:00 AM 208 100%" {
		t.Errorf("got %q, %v", got, err)
	}
	opts.Variables["a"] = []string{"x"}
	_, err = chattemplate.NewWith("", opts)
	if !isError(err, kernel.ErrArgument, "a", "[]string") {
		t.Errorf("got error %v, want one about a", err)
	}
}

// The file of SmolLM2 has the template of testdata.
func TestFromGGUF(t *testing.T) {
	f, err := gguf.Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	template, err := chattemplate.FromGGUF(f, chattemplate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range renderings(t) {
		if x.Template != "smollm2.jinja" {
			continue
		}
		got, err := template.Render(x.Messages, x.Prompt)
		if err != nil || got != x.Text {
			t.Errorf("%s: got %q and error %v, want %q", x.Talk, got, err, x.Text)
		}
	}
	source, err := f.String("tokenizer.chat_template")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "smollm2.jinja"))
	if err != nil || string(data) != source {
		t.Errorf("testdata/smollm2.jinja is not the template of the file: %q, %v", source, err)
	}
}
