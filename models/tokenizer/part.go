package tokenizer

import "strings"

// Part is a part of a text for a model.
type Part struct {
	Text string

	// Special says that special tokens written in Text, such as <|im_end|>, are meant as such. It
	// is set for what a program writes and not for what a user has written.
	Special bool
}

// Join returns the text of all parts.
func Join(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
