package batch

import "context"

// A Session computes the steps of texts, as a decoder.Session does.
type Session interface {
	// NewText returns a text without tokens.
	NewText() Text

	// Forward lets the texts of steps read their tokens, and returns for each step the logits after
	// the last one, or after each, or nothing if they are not wanted. They are valid until the next call. After an
	// error no text has changed. A *kvcache.CapacityError says that there are too few pages.
	Forward(ctx context.Context, steps []Step) ([][]float32, error)

	// PageSize is the number of tokens of a page, FreePages the number of pages that no text has.
	PageSize() int
	FreePages() int
}

// A Text is a text of a Session.
type Text interface {
	Fork(n int) (Text, error) // a text of the first n tokens, which shares their pages
	Free()
}

// A Step is what one text reads in a call of Forward.
type Step struct {
	Text   Text
	Tokens []int32
	Logits bool // whether the logits after the last token are wanted
	All    bool // and whether those after each token before are wanted, too
}
