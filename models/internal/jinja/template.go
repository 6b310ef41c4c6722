package jinja

import "github.com/attn-go/attn/models/internal/jinja/syntax"

// Template is a template, parsed. It does not change and is safe for concurrent use.
type Template struct{ parsed *syntax.Template }

// Parse parses a template. An error is a [*kernel.Error] of the kind [ErrSyntax].
func Parse(source string) (*Template, error) {
	t, err := syntax.Parse(source)
	if err != nil {
		return nil, err
	}
	return &Template{t}, nil
}

// Names tells whether a name stands in a tag of the template. Without that it cannot read a
// variable of that name.
func (t *Template) Names(s string) bool { return t.parsed.Names[s] }
