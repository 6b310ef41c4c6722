package answer_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/grammar"
)

// grown is what a parser gives of a text, byte by byte, that is cut off after n bytes: open is the
// call that breaks off.
func grown(t *testing.T, p *answer.Parser, text string, n int) (content, reasoning string, calls []string, open string) {
	t.Helper()
	for i := range n + 1 {
		var part answer.Part
		if i < n {
			part = p.Add(text[i : i+1])
		} else {
			part = p.End()
		}
		content, reasoning = content+part.Text, reasoning+part.Reasoning
		for _, c := range part.Calls {
			one := call(c.Name, string(c.Arguments))
			if !strings.HasPrefix(one, open) {
				t.Errorf("%q: the call %q was announced as %q", text, one, open)
			}
			calls, open = append(calls, one), ""
		}
		if part.Open != nil {
			one := call(part.Open.Name, string(part.Open.Arguments))
			if !strings.HasPrefix(one, open) {
				t.Errorf("%q: the call %q was announced as %q", text, one, open)
			}
			open = one
		}
		if open != "" && part.Text != "" {
			t.Errorf("%q: %q stands beside the call %q", text, part.Text, open)
		}
	}
	return content, reasoning, calls, open
}

// TestGrows: calls that are given while they grow are those that are given as a whole, wherever the
// text is cut off but for the one that breaks off there, which begins as it would go on. In
// notations with arguments in JSON, calls grow.
func TestGrows(t *testing.T) {
	for _, name := range []string{"harmony", "deepseek-v3", "deepseek", "kimi", "mistral", "mistral-v3", "phi", "granite", "hermes", "llama", "json", "gemma4", "lfm2", "glm", "qwen3-coder"} {
		f := formatOf(t, templates[name])
		broken, whole := 0, 0
		for seed := range 16 {
			a := answer.Asked{Tools: tools, Required: seed < 10, Single: seed%3 == 0, Open: seed%4 == 1 && strings.Contains(templates[name], "</think>")}
			g, err := f.Grammar(a)
			if err != nil {
				t.Fatal(err)
			}
			text := walk(t, g, uint64(seed))
			content, reasoning, calls := parsed(f.Parser(a), text)
			whole += len(calls)
			a.Grows = true
			c, r, k, open := grown(t, f.Parser(a), text, len(text))
			if c != content || r != reasoning || !slices.Equal(k, calls) || open != "" {
				t.Fatalf("%s %q: %q, %q, %q, %q, as a whole %q, %q, %q", name, text, c, r, k, open, content, reasoning, calls)
			}
			for n := seed; n < len(text); n += 1 + len(text)/12 {
				_, _, k, open := grown(t, f.Parser(a), text, n)
				if open != "" {
					broken++
				}
				if len(k) > len(calls) || !slices.Equal(k, calls[:len(k)]) || open != "" && (len(k) == len(calls) || !strings.HasPrefix(calls[len(k)], open)) {
					t.Fatalf("%s %q: %q, %q, as a whole %q", name, text[:n], k, open, calls)
				}
			}
		}
		json := !slices.Contains([]string{"gemma4", "lfm2", "glm", "qwen3-coder"}, name)
		if whole == 0 || json != (broken > 0) {
			t.Errorf("%s: %d calls, %d texts that are cut off within one", name, whole, broken)
		}
	}
}

// TestWholeUnlessWritten: a call is not announced where no grammar has made it certain.
func TestWholeUnlessWritten(t *testing.T) {
	const text = `{"name": "now", "arguments": {"a": 1`
	form := grammar.Source{Text: `{"type": "object"}`, JSON: true}
	for name, a := range map[string]answer.Asked{
		"json":    {Tools: tools, Grows: true},              // the content may begin like a call
		"hermes":  {Tools: tools, Grows: true, Form: &form}, // the content may have the mark in a string
		"mistral": {Tools: tools},
	} {
		f := formatOf(t, templates[name])
		begin := map[string]string{"json": "", "hermes": "<tool_call>\n", "mistral": "[TOOL_CALLS]now[ARGS]"}[name]
		if content, _, calls, open := grown(t, f.Parser(a), begin+text, len(begin+text)); content != begin+text || calls != nil || open != "" {
			t.Errorf("%s: %q, %q, %q", name, content, calls, open)
		}
	}
}

// TestWhole: the arguments of a call that breaks off are an object of the values that are whole.
func TestWhole(t *testing.T) {
	const all = `{"a": "x\"}", "b": [1, {"c": -12.5e3}, []], "d": {"e": true, "f": null}, "g": 7}`
	at := func(n int, want string) {
		t.Helper()
		if got := string(answer.Whole(all[:n])); got != want {
			t.Errorf("%s: %s, want %s", all[:n], got, want)
		}
	}
	for n := range len(all) {
		if got := answer.Whole(all[:n]); !json.Valid(got) || got[0] != '{' {
			t.Errorf("%s: %s", all[:n], got)
		}
	}
	for _, n := range []string{"", "x", "[1", `{"a": 1}}`, `{"a": 1} {"b"`, `{]`, `{"a" 1`, "{\"a\": \"\xff"} {
		if got := answer.Whole(n); !json.Valid(got) || got[0] != '{' {
			t.Errorf("%s: %s", n, got)
		}
	}
	for behind, want := range map[string]string{
		"": `{}`, `{`: `{}`, `{"a": "x\"}`: `{}`, `{"a": "x\"}"`: `{"a": "x\"}"}`, `"b"`: `{"a": "x\"}"}`, `[1`: `{"a": "x\"}", "b": []}`, `[1,`: `{"a": "x\"}", "b": [1]}`, `-12`: `{"a": "x\"}", "b": [1, {}]}`,
		`e3}`: `{"a": "x\"}", "b": [1, {"c": -12.5e3}]}`, `[]]`: `{"a": "x\"}", "b": [1, {"c": -12.5e3}, []]}`, `tru`: `{"a": "x\"}", "b": [1, {"c": -12.5e3}, []], "d": {}}`, `true`: `{"a": "x\"}", "b": [1, {"c": -12.5e3}, []], "d": {"e": true}}`,
		`7`: `{"a": "x\"}", "b": [1, {"c": -12.5e3}, []], "d": {"e": true, "f": null}}`, `7}`: all,
	} {
		at(strings.Index(all, behind)+len(behind), want)
	}
}
