package wordpiece

// Options are the settings of a tokenizer. The zero value is that of an uncased BERT, as
// all-MiniLM-L6-v2 is.
type Options struct {
	KeepCase    bool // do not turn characters into lower case
	KeepAccents bool // do not decompose characters and drop what is above and below them
	KeepCJK     bool // CJK ideographs are letters like others, not words of their own

	// PlainText makes special tokens that are written in a text, such as [SEP], ordinary text.
	// By default they become that token, as in the reference implementation.
	PlainText bool

	// MaxWord is the largest number of characters, after normalisation, of a word that is
	// split into tokens, up to 256. 0 means 100.
	MaxWord int
}

// maxWord is the largest MaxWord. It bounds the work for every character of a text, as the tokens of
// a word can take time in proportion to the square of its length. Known models have 100 or 200.
const maxWord = 256
