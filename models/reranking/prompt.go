package reranking

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/tokenizer"
)

// A Prompt makes the tokens of a query and a passage: [TwoTexts], a [Template] or [Chat].
type Prompt interface {
	// pairs returns a function that makes the tokens of the query with a passage, at most limit of
	// them if that is not 0. One goroutine at a time may call the function.
	pairs(ctx context.Context, instruction, query string, limit int) (with func(passage string) (ids, types []int32, err error), err error)

	// instructed tells whether the instruction has a place.
	instructed() bool
}

// TwoTexts is the prompt of models that take two texts as their tokenizer joins them, such as [CLS]
// A [SEP] B [SEP].
type TwoTexts struct {
	Tokenizer *tokenizer.Tokenizer
	Before    string // stands before the query if the caller has no instruction; "" means that the model takes none
}

func (p *TwoTexts) instructed() bool { return p.Before != "" }

func (p *TwoTexts) pairs(_ context.Context, instruction, query string, limit int) (func(string) ([]int32, []int32, error), error) {
	if instruction == "" {
		instruction = p.Before
	}
	with := p.Tokenizer.PairsOf(instruction+query, tokenizer.Options{Limit: limit})
	return func(passage string) (ids, types []int32, err error) {
		ids, types = with(passage)
		return ids, types, nil
	}, nil
}

// A Template is a text with the places {query} and {document}, and perhaps {instruction}. Special
// tokens in the template are special; in the texts that fill the places they are text like all
// other.
type Template struct {
	tokenizer   *tokenizer.Tokenizer
	parts       []string // texts of the template, and names of places in braces
	instruction string   // if the caller names none
}

// places are what a template has in braces.
var places = []string{"{instruction}", "{query}", "{document}"}

// NewTemplate returns a Template. It has {query} and {document} once each, in this order, or the
// error is a [*kernel.Error]. instruction counts if [Options] has none.
func NewTemplate(t *tokenizer.Tokenizer, text, instruction string) (*Template, error) {
	p := &Template{tokenizer: t, instruction: instruction}
	seen := []string{}
	for text != "" {
		at, place := len(text), ""
		for _, name := range places {
			if i := strings.Index(text, name); i >= 0 && i < at {
				at, place = i, name
			}
		}
		p.parts = append(p.parts, text[:at], place)
		text = text[at+len(place):]
		if place == "{query}" || place == "{document}" {
			seen = append(seen, place)
		}
	}
	if !slices.Equal(seen, places[1:]) {
		return nil, &kernel.Error{Where: "text", Got: fmt.Sprintf("a template with %q", seen), Want: "{query} and {document} once each, in this order"}
	}
	return p, nil
}

func (p *Template) instructed() bool { return slices.Contains(p.parts, "{instruction}") }

func (p *Template) pairs(_ context.Context, instruction, query string, limit int) (func(string) ([]int32, []int32, error), error) {
	if instruction == "" {
		instruction = p.instruction
	}
	fill := func(passage string) (parts []tokenizer.Part) {
		for _, text := range p.parts {
			at := slices.Index(places, text)
			if at >= 0 {
				text = [...]string{instruction, query, passage}[at]
			}
			if text != "" {
				parts = append(parts, tokenizer.Part{Text: text, Special: at < 0})
			}
		}
		return parts
	}
	c := &cutter{tokenizer: p.tokenizer, limit: limit, without: func() []tokenizer.Part { return fill("") }}
	return func(passage string) (ids, types []int32, err error) {
		ids, err = c.tokens(fill(passage))
		return ids, nil, err
	}, nil
}

// Chat is the prompt of a chat template, which gets the query and the passage as messages of the
// roles query and document, as sentence-transformers' CrossEncoder has it, after the instruction in
// the role system, if there is one.
type Chat struct {
	Tokenizer   *tokenizer.Tokenizer
	Template    *chattemplate.Template
	Answer      bool   // the beginning of the model's answer follows: add_generation_prompt
	Instruction string // if the caller names none
}

func (p *Chat) instructed() bool { return true }

func (p *Chat) pairs(ctx context.Context, instruction, query string, limit int) (func(string) ([]int32, []int32, error), error) {
	if instruction == "" {
		instruction = p.Instruction
	}
	var messages []chattemplate.Message
	if instruction != "" {
		messages = append(messages, chattemplate.Message{Role: "system", Content: instruction})
	}
	messages = append(messages, chattemplate.Message{Role: "query", Content: query})
	fill := func(passage string) ([]tokenizer.Part, error) {
		return p.Template.Parts(ctx, append(slices.Clip(messages), chattemplate.Message{Role: "document", Content: passage}), p.Answer)
	}
	c := &cutter{tokenizer: p.Tokenizer, limit: limit, without: func() []tokenizer.Part {
		parts, _ := fill("") // a template that takes no empty passage is not asked how much room it has
		return parts
	}}
	return func(passage string) (ids, types []int32, err error) {
		parts, err := fill(passage)
		if err != nil {
			return nil, nil, fmt.Errorf("reranking: %w", err)
		}
		ids, err = c.tokens(parts)
		return ids, nil, err
	}, nil
}

// CheckRoles reports a template that does not write the query or the document: a template for users
// and assistants writes nothing of messages of other roles, or refuses them. The error is a
// [*kernel.Error], or comes from the template.
func (p *Chat) CheckRoles() error {
	for _, role := range [...]string{"query", "document"} {
		texts := map[string]bool{}
		for _, word := range [...]string{"one", "two"} {
			messages := []chattemplate.Message{{Role: "query", Content: "a"}, {Role: "document", Content: "b"}}
			for i := range messages {
				if messages[i].Role == role {
					messages[i].Content = word
				}
			}
			parts, err := p.Template.Parts(context.Background(), messages, p.Answer)
			if err != nil {
				return fmt.Errorf("reranking: %w", err)
			}
			texts[tokenizer.Join(parts)] = true
		}
		if len(texts) == 1 {
			return &kernel.Error{Where: "Chat.Template", Got: "one that does not write messages of the role " + role, Want: "one for the roles query and document"}
		}
	}
	return nil
}

// A cutter makes the tokens of prompts that differ in the passage.
type cutter struct {
	tokenizer *tokenizer.Tokenizer
	limit     int                     // of tokens, or 0
	without   func() []tokenizer.Part // the prompt without a passage, nil if the template refuses it
	checked   bool                    // there is room for a passage
}

// tokens returns the tokens of a prompt, at most limit. If the last part belongs to the template,
// it stays whole and the text before it is cut, because the template asks the model at its end. The
// error is a [*kernel.Error] if nothing of the passage would stay: then all passages would have one
// score, and each would take the time of the whole query.
func (c *cutter) tokens(parts []tokenizer.Part) ([]int32, error) {
	o := tokenizer.Options{NoSpecial: true}
	if c.limit < 1 {
		return c.tokenizer.EncodeParts(parts, o), nil
	}
	o.Limit = c.limit
	if ids, fits := c.tokenizer.EncodePartsWithin(parts, o); fits {
		return ids, nil
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	ids := c.tokenizer.EncodeParts(parts, o)
	if n := len(parts); n > 0 && parts[n-1].Special && !c.tokenizer.CutsBeginning() {
		end := c.tokenizer.Encode(parts[n-1].Text, o)
		copy(ids[len(ids)-len(end):], end)
	}
	return ids, nil
}

// check reports a query that leaves no room for a passage, once.
func (c *cutter) check() error {
	if c.checked {
		return nil
	}
	c.checked = true
	if c.limit > 1 {
		if _, fits := c.tokenizer.EncodePartsWithin(c.without(), tokenizer.Options{NoSpecial: true, Limit: c.limit - 1}); fits {
			return nil
		}
	}
	return &kernel.Error{Where: "query", Got: fmt.Sprintf("%d tokens or more with the instruction and the model's prompt", c.limit), Want: "fewer, so that there is room for a passage"}
}
