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
	// pairs returns a function that makes the tokens of the query with a passage, at most limit of them if that is not 0. One
	// goroutine at a time may call the function.
	pairs(ctx context.Context, instruction, query string, limit int) (with func(passage string) (ids, types []int32, err error), err error)

	// instructed tells whether the instruction has a place.
	instructed() bool
}

// TwoTexts is the prompt of models that take two texts as their tokenizer joins them, such as [CLS] A [SEP] B [SEP].
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

// A Template is a text with the places {query} and {document}, and perhaps {instruction}. Special tokens in the template are
// special; in the texts that fill the places they are text like all other.
type Template struct {
	tokenizer   *tokenizer.Tokenizer
	parts       []string // texts of the template, and names of places in braces
	instruction string   // if the caller names none
}

// places are what a template has in braces.
var places = []string{"{instruction}", "{query}", "{document}"}

// NewTemplate returns a Template. It has {query} and {document} once each, in this order, or the error is a [*kernel.ArgumentError].
// instruction is that of [Options] if the caller names none.
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
		return nil, &kernel.ArgumentError{Arg: "text", Got: fmt.Sprintf("a template with %q", seen), Want: "{query} and {document} once each, in this order"}
	}
	return p, nil
}

func (p *Template) instructed() bool { return slices.Contains(p.parts, "{instruction}") }

func (p *Template) pairs(_ context.Context, instruction, query string, limit int) (func(string) ([]int32, []int32, error), error) {
	if instruction == "" {
		instruction = p.instruction
	}
	return func(passage string) ([]int32, []int32, error) {
		var parts []tokenizer.Part
		for _, text := range p.parts {
			at := slices.Index(places, text)
			if at >= 0 {
				text = [...]string{instruction, query, passage}[at]
			}
			if text != "" {
				parts = append(parts, tokenizer.Part{Text: text, Special: at < 0})
			}
		}
		return cutBefore(p.tokenizer, parts, limit), nil, nil
	}, nil
}

// Chat is the prompt of a chat template, which gets the query and the passage as messages of the roles query and document, as
// sentence-transformers' CrossEncoder has it, after the instruction as one of the role system, if there is one.
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
	return func(passage string) ([]int32, []int32, error) {
		all := append(slices.Clip(messages), chattemplate.Message{Role: "document", Content: passage})
		parts, err := p.Template.Parts(ctx, all, p.Answer)
		if err != nil {
			return nil, nil, fmt.Errorf("reranking: %w", err)
		}
		return cutBefore(p.Tokenizer, parts, limit), nil, nil
	}, nil
}

// CheckRoles reports a template that does not write the query or the document: a template for users and assistants writes
// nothing of messages of other roles, or refuses them. The error is a [*kernel.ArgumentError], or that of the template.
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
			return &kernel.ArgumentError{Arg: "Chat.Template", Got: "one that does not write messages of the role " + role, Want: "one for the roles query and document"}
		}
	}
	return nil
}

// cutBefore returns the tokens of parts, at most limit if that is not 0. If the last part belongs to the template, it stays whole
// and the text before it is cut, because the template asks the model at its end.
func cutBefore(t *tokenizer.Tokenizer, parts []tokenizer.Part, limit int) []int32 {
	o := tokenizer.Options{NoSpecial: true}
	if limit < 1 {
		return t.EncodeParts(parts, o)
	}
	o.Limit = limit + 1
	ids := t.EncodeParts(parts, o)
	if len(ids) <= limit {
		return ids
	}
	var end []int32
	if n := len(parts); n > 0 && parts[n-1].Special {
		end = t.Encode(parts[n-1].Text, tokenizer.Options{NoSpecial: true, Limit: limit})
	}
	return append(ids[:limit-len(end):limit-len(end)], end...)
}
