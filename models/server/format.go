package server

import (
	"encoding/json"
	"net/http"

	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/grammar"
)

// responseFormat says what a text must be.
type responseFormat struct {
	Type       string      `json:"type"` // text, json_object or json_schema
	JSONSchema *jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Schema      json.RawMessage `json:"schema"`
	Name        unused          `json:"name"`
	Description unused          `json:"description"`
	Strict      unused          `json:"strict"` // a text always satisfies the schema
}

// anyObject is the schema of json_object.
const anyObject = `{"type": "object", "additionalProperties": true}`

// limit sets the grammar that a request asks for. Grammars take memory while a text grows, so that few
// requests at once may have one; release says that the request is over.
func (x *exchange) limit(o *decoder.GenerateOptions, f *responseFormat) (release func(), err error) {
	if f == nil || f.Type == "text" {
		return func() {}, nil
	}
	schema := []byte(anyObject)
	switch {
	case f.Type == "json_schema" && f.JSONSchema != nil && len(f.JSONSchema.Schema) > 0:
		schema = f.JSONSchema.Schema
	case f.Type == "json_schema":
		return nil, badParam("response_format", "response_format.json_schema.schema: got none, want a schema")
	case f.Type != "json_object":
		return nil, badParam("response_format", "response_format: got %.40q, want text, json_object or json_schema", f.Type)
	}
	select {
	case x.grammars <- struct{}{}:
	default:
		return nil, busy(http.StatusServiceUnavailable, "too many requests with a response_format are being answered")
	}
	release = func() { <-x.grammars }
	if o.Grammar, err = grammar.FromSchema(schema); err != nil {
		release()
		return nil, badParam("response_format", "response_format: %v", err)
	}
	return release, nil
}
