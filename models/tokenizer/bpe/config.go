package bpe

// Type says what a token is for. The numbers are those of GGUF files.
type Type uint8

const (
	Normal      Type = 1 // part of texts
	Unknown     Type = 2 // stands for what has no token; otherwise like Control
	Control     Type = 3 // a special token: a mark between texts, such as <|im_end|>
	UserDefined Type = 4 // added to a vocabulary: found in texts before they are split
	Unused      Type = 5
	Byte        Type = 6 // not used by vocabularies of this kind
)

// Roles of tokens in Config.IDs, with the names that GGUF files have for them.
const (
	BOS     = "bos" // begins a text
	EOS     = "eos" // ends what a model generates
	EOT     = "eot" // ends a turn of a conversation
	EOM     = "eom" // ends a message
	Padding = "padding"
)

// Config is a vocabulary.
type Config struct {
	// Tokens are the tokens, whose index is their id. Those of Type Normal are written in GPT-2's
	// alphabet of bytes, others as they are. None is empty, none occurs twice. Those of types
	// Unknown, Control and UserDefined have at most 256 bytes.
	Tokens []string

	// Types are the types of the tokens, as many as there are. nil means Normal for all.
	Types []Type

	// Merges are pairs of tokens with a space between them, the one to merge first before all
	// others. Together the two are a token as well.
	Merges []string

	// Pre is the name that GGUF files have for the rule by which a text is split into pieces
	// before pairs are merged. The rules that there are:
	//
	//	gpt-2      of GPT-2
	//	smollm     the same, but every digit is a piece
	//	llama-bpe  of Llama 3: up to three digits are a piece
	//	qwen2      the same, but every digit is a piece
	Pre string

	// IDs are ids of tokens by their role.
	IDs map[string]int32

	// AddBOS and AddEOS say whether the model was trained on texts with such tokens. Encode
	// does not add them: that is the caller's to do.
	AddBOS, AddEOS bool

	// WholePieces makes a piece that is a token that token, even if merges lead to others.
	// Llama 3 has it.
	WholePieces bool
}
