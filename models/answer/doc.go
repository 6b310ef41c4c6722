// Package answer takes the answers of language models apart: thinking, content and calls of tools.
// Families of models write them in different forms, which [Of] tells by a model's template.
//
//	f := answer.Of(template)
//	o := decoder.GenerateOptions{Markers: f.Markers(tokenizer)}
//	o.Grammar, err = f.Grammar(asked) // valid calls, whatever the model wants
//	p := f.Parser(asked)
//	part := p.Add(token.Text)         // for each token, and then
//	part = p.End()
//
// What does not parse is content: no call is made up, and no call of a tool that was not offered. A
// family is a row of formats.go; a notation, which is how one call is written, is a file.
package answer

import (
	"encoding/json"

	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/grammar"
)

// Asked is what an answer may be.
type Asked struct {
	Tools    []chattemplate.Tool // that it may call
	Required bool                // it is calls alone
	Single   bool                // it has at most one call
	Open     bool                // the prompt ends within thinking, see [Format.Opens]
	Form     *grammar.Source     // what its content must be, nil for any text

	// Grows says that calls are given while they grow, see [Part.Open]. The text must belong to the
	// grammar of [Format.Grammar], and end with it or be cut off by a number of tokens.
	Grows bool
}

// A Part is what an answer grows by. Calls are complete, in their order, without ids but for those
// that the model writes.
type Part struct {
	Reasoning, Text string
	Calls           []chattemplate.ToolCall

	// Open, if not nil, is the call behind Calls as far as it is written, with Asked.Grows. It
	// becomes the first of Calls in a later part, with arguments that begin with these, or it
	// breaks off.
	//
	// No call is announced that is none later: in the notations with arguments in JSON the grammar
	// leaves nothing open behind the mark that begins a call but a valid one. Where nothing but the
	// content's own beginning is a mark, or other content may have one in it, calls come as a whole
	// unless they are required. What remains is an answer that is cut off: its last call then
	// breaks off, and the part of End has it here once more.
	Open *chattemplate.ToolCall
}

// written tells whether what begins a call is one for certain, as the grammar of an answer has
// written it.
func (a *Asked) written(f *Format) bool {
	return a.Required || a.Grows && a.Form == nil && f.begins[0] != ""
}

// tool returns a tool by its name, or nil.
func (a *Asked) tool(name string) *chattemplate.Tool {
	for i := range a.Tools {
		if a.Tools[i].Name == name {
			return &a.Tools[i]
		}
	}
	return nil
}

// noParameters is the schema of a tool that says none.
const noParameters = `{"type": "object", "properties": {}, "additionalProperties": false}`

// schemaOf returns the schema of a tool's arguments.
func schemaOf(t *chattemplate.Tool) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(noParameters)
	}
	return t.Parameters
}
