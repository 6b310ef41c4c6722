package decoder

import (
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/tokenizer"
)

// A ranking says how the model of a folder or file scores pairs.
type ranking struct {
	answers bool  // by logits of tokens; otherwise by the classifier
	yes, no int32 // these tokens; no is -1 if the logit of yes is the score

	labels   []string // of the classifier, nil if they are not named
	first    bool     // the first label is meant if none is named
	identity bool     // see reranking.Head
	padding  int32    // see reranking.Head
	limit    int      // of tokens, or 0
	prompt   func(m rankedModel) (reranking.Prompt, error)

	weights reranking.Matrix // of the classifier
}

// A rankedModel is what must be known of a model.
type rankedModel struct {
	architecture string // as GGUF files call it
	vocab        int    // tokens that it knows
	tokenizer    func() (*tokenizer.Tokenizer, error)
	template     func() (*chattemplate.Template, error)

	// fault makes the error of a key of a file in a folder.
	fault func(file, key, got, want string) error
}

// Files of a folder.
const (
	configName    = "config.json"
	tokenizerName = "tokenizer_config.json"
)
