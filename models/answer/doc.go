// Package answer takes the answers of language models apart: thinking, content and calls of tools. Families of models write
// them in different forms, which [Of] tells by a model's template.
//
//	f := answer.Of(template)
//	o := decoder.GenerateOptions{Markers: f.Markers(tokenizer)}
//	o.Grammar, err = f.Grammar(asked) // valid calls, whatever the model wants
//	p := f.Parser(asked)
//	part := p.Add(token.Text)         // for each token, and then
//	part = p.End()
//
// What does not parse is content: no call is made up, nor one of a tool that was not offered. A family is a row of formats.go;
// a notation, which is how one call is written, is a file.
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
}

// A Part is what an answer grows by. Calls are complete, in their order, without ids but for those that the model writes.
type Part struct {
	Reasoning, Text string
	Calls           []chattemplate.ToolCall
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
