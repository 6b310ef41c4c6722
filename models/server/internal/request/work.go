package request

import (
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/answer"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/server/internal/options"
)

// Work is what a request asks for: a [*Generate], an [*Embed], a [*Rank], or what every model does:
// a [*Tokenize], a [*Detokenize] or an [*About].
type Work interface {
	// Kind is the kind of models that do it, "" for all.
	Kind() models.Kind
}

// Kind implements [Work].
func (*Generate) Kind() models.Kind   { return models.KindGenerator }
func (*Embed) Kind() models.Kind      { return models.KindEmbedder }
func (*Rank) Kind() models.Kind       { return models.KindReranker }
func (*Tokenize) Kind() models.Kind   { return "" }
func (*Detokenize) Kind() models.Kind { return "" }
func (*About) Kind() models.Kind      { return "" }

// Inputs are texts, or tokens in place of them.
type Inputs struct {
	Texts  []string
	Tokens [][]int32
}

// Len returns how many there are.
func (in *Inputs) Len() int { return max(len(in.Texts), len(in.Tokens)) }

// Generate asks for texts that go on. Its events come from [Request.Next].
type Generate struct {
	Conversation *chattemplate.Conversation // whose next message is wanted, or nil for
	Inputs                                  // texts that are continued

	Tools    Choosing
	Thinking *int // most tokens of thinking, nil for no limit

	Options    decoder.GenerateOptions
	Stop       []int32 // tokens that end a text beside the model's, or nil
	IgnoreEnds bool    // leave out the model's
	Shape      *options.Shape
	Choices    int     // of each prompt
	Suffix     *string // what follows: the text between it and the input is wanted
	Echo       bool    // begin with the prompts
	Quiet      bool    // and end with them
	Count      bool    // only the tokens of the prompts
	Grow       bool    // events have calls of tools while they grow, else as a whole, or at the end as far as the last one goes

	// Of the server.
	Prompts [][]int32
	Echoed  []Echoed           // the prompts, with Echo
	Bytes   func(int32) []byte // of a token
	Parser  func() *answer.Parser
	CallID  func(choice, call int) string // of a call that the model gives none
}

// A Choosing says which tools of a conversation an answer may call.
type Choosing struct {
	None     bool     // no tool
	Required bool     // the answer is calls alone
	Names    []string // of the tools that it may call, nil for all
	Single   bool     // at most one call
	Schema   string   // the field of a tool that has the schema of its arguments
}

// Echoed is a prompt that an answer begins with.
type Echoed struct {
	Text    string
	Tokens  []decoder.Token // with their logarithms, if those are wanted
	Outside int             // of the first tokens, how many are not written in the text
}

// Embed asks for vectors of texts.
type Embed struct {
	Inputs
	Multi      bool // vectors of the tokens in place of a vector
	Sparse     bool // weights of tokens, beside a vector if the model has one
	Alone      bool // and nothing beside them
	Dimensions *int // nil for the model's
	Truncate   bool // leave out what is too long of a text, which is an error otherwise

	// Prompt is the name of the model's prompt that is put before the texts, "" for the default
	// one, and PromptNames are other names of it. PromptField is the field that has it.
	Prompt      string
	PromptNames []string
	PromptField string

	// Of the server.
	IDs     [][]int32
	Query   bool // the texts are queries, with vectors of tokens
	Vectors [][]float32
	Lists   []embedding.TokenVectors // with Multi
	Weights []embedding.Sparse       // with Sparse
}

// Vector tells whether a vector of each text is wanted of a model that has one or not.
func (w *Embed) Vector(has bool) bool { return !w.Multi && (!w.Sparse || has && !w.Alone) }

// Rank asks how well texts answer a query.
type Rank struct {
	Query       string
	Texts       []string
	Field       string // that has them, as errors name it
	Truncate    bool   // leave out the end of a text that does not fit beside the query, which is an error otherwise
	Instruction string
	Label       string

	// Of the server.
	Pairs  []reranking.Pair
	Scores []float32
	Raw    bool // scores are no logits: they have no logistic function
}

// Tokenize asks for the tokens of a text.
type Tokenize struct {
	Text    string
	Special bool // with those around it

	// Of the server.
	IDs      []int32
	Most     int    // tokens that the model sees
	BOS, EOS string // the tokens of these roles, "" for none
	Template string // of conversations
}

// Detokenize asks for the text of tokens.
type Detokenize struct {
	IDs []int32

	// Of the server.
	Text string
}

// About asks what models there are, or what the one is that the request names.
type About struct {
	All bool

	// Of the server.
	Models []Facts
}

// Facts say what a model is. The names of those after OwnedBy are not OpenAI's.
type Facts struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	Loaded  *bool  `json:"loaded,omitempty"` // of a model that is loaded on demand; others always are

	Kind           models.Kind       `json:"kind"`
	Tasks          []string          `json:"tasks"` // of chat, completion, embedding, rerank, multivector and sparse
	Architecture   string            `json:"architecture,omitempty"`
	Layers         int               `json:"layers,omitempty"`
	Context        int               `json:"max_model_len,omitempty"`
	Dimensions     int               `json:"dimensions,omitempty"`
	Vocabulary     int               `json:"vocab_size,omitempty"`
	CacheType      string            `json:"cache_type,omitempty"`
	CacheValueType string            `json:"cache_value_type,omitempty"` // if it is another one
	Activations    string            `json:"activations,omitempty"`      // float32, bf16 or int8
	Attention      string            `json:"attention,omitempty"`        // integers, if it computes with them
	Defaults       *Defaults         `json:"defaults,omitempty"`
	Prompts        map[string]string `json:"prompts,omitempty"` // for a client to put before texts, by their names
	Contract       int               `json:"contract"`
	Fingerprint    string            `json:"system_fingerprint"`

	// Of APIs other than OpenAI's.
	Digest    string   `json:"-"` // of its files
	Template  string   `json:"-"` // of conversations
	Slots     int      `json:"-"` // texts that go on at once
	Abilities []string `json:"-"` // of tools, thinking and insert
}

// Defaults are what a language model takes for fields that a request lacks.
type Defaults struct {
	MaxTokens   int     `json:"max_tokens"`
	Temperature float64 `json:"temperature"`
	TopK        int     `json:"top_k"`
	TopP        float64 `json:"top_p"`
	Seed        uint64  `json:"seed"`
	Date        string  `json:"date,omitempty"` // if the template asks for it
}
