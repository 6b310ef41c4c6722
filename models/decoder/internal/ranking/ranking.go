package ranking

import (
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/tokenizer"
)

// A Ranking says how the model of a folder or file scores pairs.
type Ranking struct {
	Answers bool  // by logits of tokens; otherwise by the classifier
	Yes, No int32 // these tokens; No is -1 if the logit of Yes is the score

	Labels   []string // of the classifier, nil if they are not named
	First    bool     // the first label is meant if none is named
	Identity bool     // see reranking.Head
	Padding  int32    // see reranking.Head
	Limit    int      // of tokens, or 0

	// Prompt makes what writes a query and a passage.
	Prompt func(m Model) (reranking.Prompt, error)

	Weights reranking.Matrix // of the classifier, once the model is loaded
}

// A Model is what must be known of a model.
type Model struct {
	Architecture string // as GGUF files call it
	Vocab        int    // tokens that it knows
	Tokenizer    func() (*tokenizer.Tokenizer, error)
	Template     func() (*chattemplate.Template, error)

	// Fault makes the error of a key of a file in a folder.
	Fault func(file, key, got, want string) error
}

// Files of a folder.
const (
	configName    = "config.json"
	tokenizerName = "tokenizer_config.json"
)
