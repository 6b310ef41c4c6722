// Package chattemplate turns the messages of a conversation into the text that a model continues,
// by the template that comes with the model, in the language Jinja.
//
// A [Conversation] has tools, their calls and what they answered, documents, and variables beside
// its messages. No template reads the clock: see [Date].
//
// There is a Go library for Jinja, gonja v2.9.1, which renders the templates of well-known models
// right as long as there are no tools: mappings lose the order of their keys, and more than half of
// public templates have a conversation with calls or reasoning that it writes otherwise, or
// refuses. Nothing limits a template's time, memory or stack: 50 bytes in a file that somebody else
// made end the program (a macro that calls itself overflows the stack, which Go cannot recover
// from), others take all memory or never end, and it does not tell the text of a message from the
// template's. pongo2 v6.0.0 has no such limits either, and the language of Django, without
// namespaces and methods. This package limits what a template does and tells the texts apart.
package chattemplate

import (
	"context"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/jinja"
	"github.com/attn-go/attn/models/tokenizer"
)

// maxSize is the largest size of a template in bytes. Known ones have up to 20,000.
const maxSize = 1 << 16

// Limits on the work of a template, in the units of package jinja: a unit takes some nanoseconds at
// most, and four are charged for a byte of memory. It may do so much, and so much more for every
// byte of the messages. Known templates take up to 32 for a byte.
const (
	baseWork = 1 << 24
	byteWork = 1 << 8
)

// Options are what a template can ask for besides messages.
type Options struct {
	BOS, EOS string // texts of the tokens that begin and end a text; the variables bos_token and eos_token

	// Variables are further variables, such as enable_thinking. They are nil, bool, int, float64 or
	// string, which count as part of the template, or json.RawMessage, such as tools, whose strings
	// count as strings of messages do.
	Variables map[string]any

	// Date is the day that templates take for today. The zero value is [DefaultDate].
	Date Date
}

// Template is a template, parsed. It does not change and is safe for concurrent use.
type Template struct {
	source string
	parsed *jinja.Template
	opts   Options
}

// New parses a template. An error is a [*kernel.Error] of the kind [ErrSyntax].
func New(template string) (*Template, error) { return NewWith(template, Options{}) }

// NewWith is New with options. The error is a [*kernel.Error], also about a variable.
func NewWith(template string, opts Options) (*Template, error) {
	if len(template) > maxSize {
		return nil, &kernel.Error{Where: "chattemplate: line 1", Got: fmt.Sprintf("%d bytes", len(template)), Want: fmt.Sprint("at most ", maxSize), Kind: ErrSyntax}
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	parsed, err := jinja.Parse(template)
	if err != nil {
		return nil, failed(context.Background(), err)
	}
	return &Template{source: template, parsed: parsed, opts: opts}, nil
}

// ReadsDate tells whether the template can ask for the date, so that its text may depend on
// Options.Date.
func (t *Template) ReadsDate() bool { return t.parsed.Names("strftime_now") }

// Options returns the options of the template.
func (t *Template) Options() Options { return t.opts }

// With returns the template with other options, such as the tools of a conversation. The error is a
// [*kernel.Error].
func (t *Template) With(opts Options) (*Template, error) {
	with := *t
	with.opts = opts
	return &with, opts.check()
}

// FromGGUF parses the template that a GGUF file has. BOS and EOS, if they are "", are the tokens
// that the file names. An error is a *kernel.Error if there is none, or comes from NewWith.
func FromGGUF(f *gguf.File, opts Options) (*Template, error) {
	template, err := f.String("tokenizer.chat_template")
	if err != nil {
		return nil, err
	}
	for _, token := range [...]struct {
		key  string
		text *string
	}{{"tokenizer.ggml.bos_token_id", &opts.BOS}, {"tokenizer.ggml.eos_token_id", &opts.EOS}} {
		if *token.text == "" {
			*token.text = tokenText(f, token.key)
		}
	}
	return NewWith(template, opts)
}

// tokenText returns the text of a token whose id the file has at a key, or "".
func tokenText(f *gguf.File, key string) string {
	id, errID := f.Int(key)
	tokens, errTokens := f.Strings("tokenizer.ggml.tokens")
	if errID != nil || errTokens != nil || id < 0 || id >= int64(len(tokens)) {
		return ""
	}
	return tokens[id]
}

// Render returns the text for messages, with the beginning of the model's answer after them if
// prompt is set. The error is a [*kernel.Error]: of the kind [ErrRefused] or [ErrRender], or about
// fields of a message.
//
// Encode what Parts returns instead, if a user has written the messages: in this text, special
// tokens that somebody has written into a message cannot be told from the template's.
func (t *Template) Render(messages []Message, prompt bool) (string, error) {
	parts, err := t.Parts(context.Background(), messages, prompt)
	return tokenizer.Join(parts), err
}

// Parts returns the text that Render returns in parts: what the template has written is Special,
// what comes from the messages, roles included, is not. No two neighbours are alike. Cancelling ctx
// ends it.
func (t *Template) Parts(ctx context.Context, messages []Message, prompt bool) ([]tokenizer.Part, error) {
	return t.Write(ctx, &Conversation{Messages: messages}, prompt)
}

// check reports a variable that is none.
func (o *Options) check() error {
	for name, v := range o.Variables {
		if _, err := new(reader).variable(name, v); err != nil {
			return err
		}
	}
	return nil
}
