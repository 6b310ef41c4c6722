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
	// are equally long; at the beginning if truncation_side of tokenizer_config.json is left. Below
	// 1 it sets no limit. Special tokens are never left out.
	Limit int
}

// Roles of tokens, for Tokenizer.Role.
const (
	RoleBOS     = "bos"     // begins a text
	RoleEOS     = "eos"     // ends what a model generates
	RoleEOT     = "eot"     // ends a turn of a conversation, in GGUF files
	RoleEOM     = "eom"     // ends a message, in GGUF files
	RoleUnknown = "unk"     // stands for what has no token
	RolePadding = "padding" // fills a batch up
	RoleClass   = "cls"     // begins a text for an encoder
	RoleSep     = "sep"     // ends a text for an encoder
	RoleMask    = "mask"    // stands for a word to be guessed
)
