package answer_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
)

// FuzzParser: whatever a model writes, a parser gives the same wherever it is cut, nothing panics,
// and calls are of tools that were offered, with a JSON object.
func FuzzParser(f *testing.F) {
	for _, x := range examples {
		f.Add(templates[x.format], x.text, uint16(len(x.text)/2), x.open)
		f.Add(templates[x.format], x.text[:len(x.text)*3/4]+"{\"x\": 1}"+x.text, uint16(len(x.text)/2), x.open)
	}
	const now = `{"name": "now", "arguments": {}}`
	f.Add(templates["granite"], "<|tool_call|>["+now+", "+now+`, {"x": 1}]<|tool_call|>[`+now+", "+now+"]", uint16(0), false)
	f.Fuzz(func(t *testing.T, template, text string, cut uint16, open bool) {
		format := formatOf(t, template)
		a := answer.Asked{Tools: tools, Open: open && template != "" && len(template) < 100}
		if _, end := format.Thinks(); end == "" {
			a.Open = false
		}
		at := int(cut) % (len(text) + 1)
		content, reasoning, calls := parsed(format.Parser(a), text)
		c, r, k := parsed(format.Parser(a), text[:at], text[at:])
		if c != content || r != reasoning || !slices.Equal(k, calls) {
			t.Errorf("%s %q cut at %d: %q, %q, %q, whole %q, %q, %q", format.Name, text, at, c, r, k, content, reasoning, calls)
		}
		p := format.Parser(a)
		all := append(p.Add(text).Calls, p.End().Calls...)
		a.Grows = true // which is not for every text, so that calls that are given may be followed by what is wrong
		p = format.Parser(a)
		for _, c := range []byte(text) {
			all = append(all, p.Add(string([]byte{c})).Calls...)
		}
		for _, call := range append(all, p.End().Calls...) {
			var object map[string]any
			known := slices.ContainsFunc(tools, func(tool chattemplate.Tool) bool { return tool.Name == call.Name })
			if err := json.Unmarshal(call.Arguments, &object); err != nil || !known {
				t.Errorf("%s %q: the call %s%s, %v", format.Name, text, call.Name, call.Arguments, err)
			}
		}
	})
}
