package decoder

import (
	"github.com/attn-go/attn/models/internal/ropescaling"
	"github.com/attn-go/attn/models/internal/strict"
)

// A Config has the sizes and constants of a model, as its file or folder gives them.
type Config struct {
	Architecture string // as GGUF files call it

	Layers   int
	Width    int // of the hidden states
	Heads    int // of queries
	KVHeads  int // of keys and values; divides Heads
	HeadSize int
	FFN      int // width of the feed-forward networks; of each expert if there are any
	Vocab    int // rows of the embedding: tokens, and rows without a token in some models
	Context  int // tokens that the model was trained for

	Epsilon float32 // of the norms

	RopeDims    int     // elements of a head that are rotated
	RopeBase    float64 // of the frequencies
	RopeScaling float64 // divides the frequencies, if they are scaled alike; 1 otherwise

	Experts      int  // feed-forward networks of a layer; 0 means one, without a choice
	ExpertsUsed  int  // of which a token takes so many
	ExpertShares bool // the shares of those add up to 1

	dynamic bool // rotations of longer texts than Context would have frequencies for each length

	// Windows has, for each layer, how many keys a query sees, its own included; 0 means all. nil
	// means all in every layer.
	Windows []int

	// Bidirectional says that tokens also see those after them, and with a window as many after
	// them as before: a model of embeddings, see [LoadEmbedder], which generates no text.
	Bidirectional bool
	bothWays      [2]string // the key that says so, and its value

	EmbeddingScale float32 // multiplies embeddings, if not 0
	ScoreScale     float32 // of scores, if not 0, which means 1/√HeadSize
	ScoreSoftcap   float32 // limits scores, if not 0
	LogitSoftcap   float32 // limits logits, if not 0

	scaling   ropescaling.Scaling // of the frequencies, beyond RopeScaling
	localBase float64             // of the frequencies of layers with a window; 0 means as the others
}

// noGenerator returns the error of a model of embeddings that is to generate text.
func (c *Config) noGenerator(bad func(key, got, want string) error) error {
	return bad(c.bothWays[0], c.bothWays[1]+", a model of embeddings", "one that generates text; LoadEmbedder is for this one")
}

// window returns how many keys a query of a layer sees, 0 for all.
func (c *Config) window(layer int) int {
	if c.Windows == nil {
		return 0
	}
	return c.Windows[layer]
}

// most bounds every size.
const most = strict.Most
