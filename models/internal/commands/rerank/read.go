package rerank

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/models/internal/passage"
)

// A result is a passage, where it comes from, and its score. The tags are the fields of a JSON
// line.
type result struct {
	Score  float32 `json:"score"`
	File   string  `json:"file,omitempty"` // "" for a -text and for the standard input
	Line   int     `json:"line"`           // the first, from 1, or the number of a -text
	Last   int     `json:"last_line,omitempty"`
	Text   string  `json:"text"`
	Tokens int     `json:"tokens"` // with the query's
	Cut    bool    `json:"cut,omitempty"`

	source string // FILE, stdin or -text, as a terminal may show it
}

// read returns the passages of all texts and files.
func (c *config) read(ctx context.Context, stdin io.Reader, report io.Writer) (all []result, err error) {
	for i, text := range c.Inputs.Texts {
		all = append(all, result{Line: i + 1, Text: text, source: "-text"})
	}
	for _, name := range c.Inputs.Files {
		if all, err = c.readFile(ctx, all, name, stdin, report); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readFile appends the passages of a file that are not blank.
func (c *config) readFile(ctx context.Context, all []result, name string, stdin io.Reader, report io.Writer) (_ []result, err error) {
	f, err := c.Inputs.Open(ctx, name, stdin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	source := passage.Escape(name)
	if name == "-" {
		name, source = "", "stdin"
	}
	r, binary, err := passage.Binary(f)
	if err != nil {
		return nil, err
	}
	if binary {
		fmt.Fprintf(report, "skipped %s, a binary file\n", source)
		return all, nil
	}
	for p, err := range passage.Read(r, c.Passages) {
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(p.Text) == "" {
			continue
		}
		last := p.Last
		if last == p.First {
			last = 0
		}
		all = append(all, result{File: name, Line: p.First, Last: last, Text: p.Text, source: source})
	}
	return all, nil
}
