package tokenizer

// Options are the settings of one call. The zero value is what Hugging Face's tokenizers do by
// default: with the tokens that a model expects around a text, with special tokens that are written
// in a text taken as such, and without a limit.
type Options struct {
	// NoSpecial leaves out the tokens that a model expects around a text, such as [CLS] and [SEP].
	NoSpecial bool

	// Plain makes special tokens that are written in a text ordinary text, as is right for what a
	// user has written. For EncodeParts the parts say so themselves.
	Plain bool

	// Limit is the largest number of ids, the ones that NoSpecial would leave out included. Tokens
	// at the text's end are left out; of a pair, those at the end of the longer text, until both
	// are equally long; at the beginning if truncation_side of tokenizer_config.json is left. Below 1 it sets no limit. Special
	// tokens are never left out.
	Limit int
}

// Roles of tokens, for Tokenizer.Role.
const (
	BOS     = "bos"     // begins a text
	EOS     = "eos"     // ends what a model generates
	EOT     = "eot"     // ends a turn of a conversation, in GGUF files
	EOM     = "eom"     // ends a message, in GGUF files
	Unknown = "unk"     // stands for what has no token
	Padding = "padding" // fills a batch up
	Class   = "cls"     // begins a text for an encoder
	Sep     = "sep"     // ends a text for an encoder
	Mask    = "mask"    // stands for a word to be guessed
)
