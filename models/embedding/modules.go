package embedding

// A Pooling says how the vectors of a text's tokens become one.
type Pooling = string

// The poolings, by the names that sentence-transformers has for them.
const (
	PoolFirst        Pooling = "cls"                  // the vector of the first token
	PoolMean         Pooling = "mean"                 // the mean of all
	PoolMeanSqrt     Pooling = "mean_sqrt_len_tokens" // the sum of all, divided by the square root of their number
	PoolMax          Pooling = "max"                  // the largest number of every column
	PoolLast         Pooling = "lasttoken"            // the vector of the last token
	PoolWeightedMean Pooling = "weightedmean"         // the mean, token i = 1, 2, ... with the weight i
)

// Poolings are all that are known.
var Poolings = []Pooling{PoolFirst, PoolMean, PoolMeanSqrt, PoolMax, PoolLast, PoolWeightedMean}

// Modules are what sentence-transformers does with a text beside the transformer itself.
type Modules struct {
	Listed bool // the folder has modules.json

	// Transformer is the folder of the transformer in the model's folder, with slashes: "" for the
	// model's own, or such as 0_Transformer.
	Transformer string

	// Poolings are one, or several whose vectors stand side by side. A cross-encoder with
	// modules.json has none.
	Poolings []Pooling

	// WithoutPrompt leaves the prompt and the tokens before it out of the pooling: include_prompt
	// is false.
	WithoutPrompt bool

	After []Module // of the pooling, in order

	// MaxTokens is max_seq_length of sentence_bert_config.json. TokenizerMax is model_max_length of
	// tokenizer_config.json, which counts if there is no MaxTokens. Both are 0 if the files do not
	// say them.
	MaxTokens, TokenizerMax int

	// Lower makes a text lower case before anything else is done with it: do_lower_case of
	// sentence_bert_config.json is true.
	Lower bool

	// Prompts are texts by their names, such as "query", that are put before a text, of
	// config_sentence_transformers.json. DefaultPrompt is the name of the prompt that every text
	// gets, or "".
	Prompts       map[string]string
	DefaultPrompt string

	// Dimensions is truncate_dim of config_sentence_transformers.json: how many numbers of a vector
	// are kept, 0 for all.
	Dimensions int

	// Similarity is how vectors are meant to be compared: cosine, dot, euclidean, manhattan, or ""
	// if it is not said.
	Similarity string

	Task string // of the transformer, such as sequence-classification

	Words bool // the model gives words weights, as SPLADE does, and has no Poolings

	Late *Late // of models with a vector for each token, which have no Poolings; or nil
}

// A Late says how a model of late interaction makes tokens of texts, by the names of PyLate. A
// prefix is a token that follows a text's first; "" is none.
type Late struct {
	QueryPrefix, DocumentPrefix string
	QueryLength, DocumentLength int      // tokens to which texts are cut, the prefix included
	Expand                      bool     // mask tokens fill up a query, and have vectors as its tokens do
	Attend                      bool     // all tokens of the query see them
	Skip                        []string // tokens of documents that have no vector
}

// A Module follows the pooling: a linear layer, a norm or, if both are nil, the division by the L2
// norm.
type Module struct {
	Dense *DenseModule
	Norm  *NormModule
}

// A DenseModule is a linear layer, whose weights are linear.weight [Out, In] and linear.bias [Out]
// of Folder.
type DenseModule struct {
	Folder     string // in the model's folder, with slashes
	In, Out    int
	Bias       bool
	Activation string // "" for none, or Tanh, ReLU, GELU ...: the name of the class in PyTorch

	// Residual adds the inputs to the outputs, or, if In is not Out, their product with
	// residual.weight [Out, In].
	Residual bool
}

// A NormModule is layer normalization with epsilon 1e-5, whose weights are norm.weight and
// norm.bias [Width] of Folder.
type NormModule struct {
	Folder string // in the model's folder, with slashes
	Width  int
}
