// Package normalize has the normalizers of Hugging Face's tokenizers: what happens to a text before
// it is split.
//
// Categories of characters, decompositions and lower case follow Unicode 15.0, as in Go 1.26. The
// reference implementation in Rust has older categories and a newer lower case: the two differ in
// some hundreds of rare characters.
package normalize

// Func returns the text for a text.
type Func func(text string) string

// Sequence applies functions one after another.
func Sequence(all []Func) Func {
	return func(text string) string {
		for _, f := range all {
			text = f(text)
		}
		return text
	}
}
