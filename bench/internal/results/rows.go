package results

import (
	"fmt"

	"github.com/attn-go/attn/bench/internal/stats"
)

// A Timing is the time of a call.
type Timing struct {
	Ns      float64 `json:"ns"`      // median
	Q1      float64 `json:"q1_ns"`   // a quarter of the samples is faster
	Q3      float64 `json:"q3_ns"`   // a quarter of the samples is slower
	Samples int     `json:"samples"` // each is a call, or the average of several short ones

	Runs []float64 `json:"runs_ns,omitempty"` // with -count, the medians of all repetitions in their order; the row is that with the median time
}

// Unsteady says whether the middle half of the samples spreads over more than MostSpread of the
// median: something else ran.
func (t *Timing) Unsteady() bool { return t.Q3-t.Q1 > MostSpread*t.Ns }

// NewTiming sums up samples in nanoseconds.
func NewTiming(ns []float64) Timing {
	return Timing{Ns: stats.Median(ns), Q1: stats.Quantile(ns, 0.25), Q3: stats.Quantile(ns, 0.75), Samples: len(ns)}
}

// Spread returns the interquartile range, relative to the median.
func (t Timing) Spread() float64 {
	if t.Ns == 0 {
		return 0
	}
	return (t.Q3 - t.Q1) / t.Ns
}

// An Error is a distance from float64. In place of an infinite one, which JSON does not have,
// there is the largest float64.
type Error struct {
	Max float64 `json:"max"`
	RMS float64 `json:"rms"`
}

// A Check compares the bits of all tiers on activations of trained models.
type Check struct {
	Name     string   `json:"name"`
	Input    string   `json:"input"`              // in a few words
	Contract string   `json:"contract,omitempty"` // SHA-256 of the output by the contract, if known
	Hashes   []Hash   `json:"hashes"`
	Error    Error    `json:"error"`   // against float64
	PyTorch  Error    `json:"pytorch"` // PyTorch's on the same input
	Failures []string `json:"failures,omitempty"`
}

// A Hash is the SHA-256 of an output.
type Hash struct {
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	SHA256  string `json:"sha256"` // of float32 bits, little endian, in row-major order
}

// A Speed is the time of one attention call on one tier and number of threads.
type Speed struct {
	Shape   string `json:"shape"`           // descriptive name
	Alias   string `json:"alias,omitempty"` // short name
	Input   string `json:"input"`           // in a few words
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	Timing
	Flops   float64 `json:"flops"` // operations of a call: 4·heads·Lq·Lk·D, half if causal
	Bytes   float64 `json:"bytes"` // of queries, keys, values and output, each once
	GFLOPs  float64 `json:"gflops"`
	Peak    float64 `json:"peak_gflops"`  // FMA peak of as many threads at once, measured between the calls
	Percent float64 `json:"peak_percent"` // of that peak; see Share
	SHA256  string  `json:"sha256"`       // of the output's bits; the input is the same on all machines

	PeakSpread float64 `json:"peak_spread,omitempty"` // interquartile range of the measurements of Peak, relative to it
	Read       float64 `json:"read_gbs,omitempty"`    // of calls with few queries: of a loop that reads the keys and values on as many threads, measured between the calls
	ReadSpread float64 `json:"read_spread,omitempty"` // interquartile range of the measurements of Read, relative to it
}

// An Option is the cost of an option of attention on one thread.
type Option struct {
	Shape   string  `json:"shape"`
	Input   string  `json:"input"`
	Option  string  `json:"option"`
	Tier    string  `json:"tier"`
	Plain   float64 `json:"plain_ns"`     // a call without the option, median
	With    float64 `json:"with_ns"`      // a call with it, median
	Share   float64 `json:"share"`        // of the scores that are computed with it
	Cost    float64 `json:"cost_percent"` // what With takes more than Share of Plain: median of ratios of calls right after each other
	Samples int     `json:"samples"`

	Runs []float64 `json:"runs_ns,omitempty"` // With of each repetition (-count)
}

// Limits of a linear layer, and of decoding.
const (
	LimitPeak = "peak" // GFLOP/s of FMAs
	LimitRead = "read" // GB/s of reading the weights, or keys and values
)

// A Linear is the speed of a linear layer.
type Linear struct {
	Rows    int    `json:"rows"`
	Inputs  int    `json:"inputs"`
	Outputs int    `json:"outputs"`
	Weights string `json:"weights"`        // their type
	Int8    bool   `json:"int8,omitempty"` // the rows are quantized, which Weights says, too
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	Timing
	Limit     string  `json:"limit"`         // LimitPeak or LimitRead
	Rate      float64 `json:"rate"`          // in the unit of the limit
	LimitRate float64 `json:"limit_rate"`    // what as many threads reach, measured between the calls
	Percent   float64 `json:"limit_percent"` // Rate of LimitRate; see Share

	LimitSpread float64 `json:"limit_spread,omitempty"` // interquartile range of the measurements of LimitRate, relative to it
}

// Shape returns the sizes in a few characters.
func (l *Linear) Shape() string { return fmt.Sprintf("%d × %d → %d", l.Rows, l.Inputs, l.Outputs) }

// A Backward is the speed of the gradients of an attention call, beside the speed of the call
// itself, which was made right before each time.
type Backward struct {
	Shape   string `json:"shape"`           // descriptive name
	Alias   string `json:"alias,omitempty"` // short name
	Input   string `json:"input"`           // in a few words
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	Timing
	Flops          float64 `json:"flops"` // operations of a call: 2.5 times the forward call's
	GFLOPs         float64 `json:"gflops"`
	Peak           float64 `json:"peak_gflops"`           // FMA peak of as many threads at once, measured between the calls
	Percent        float64 `json:"peak_percent"`          // of that peak
	Forward        float64 `json:"forward_ns"`            // of the forward call with its LSE, median
	ForwardPercent float64 `json:"forward_percent"`       // of the peak
	PeakSpread     float64 `json:"peak_spread,omitempty"` // interquartile range of the measurements of Peak, relative to it
	SHA256         string  `json:"sha256"`                // of the hexadecimal SHA-256s of dq, dk and dv, one behind the other
}

// Name returns the name of the shape for Peer.Shape and Outputs, which is not the forward call's.
func (b *Backward) Name() string { return BackwardPrefix + b.Shape }

// BackwardPrefix stands before the name or alias of a shape in Peer.Shape if a Peer is the time of
// gradients.
const BackwardPrefix = "backward-"

// DecodeGroup is the number of query heads for each KV head of a Decode that is no comparison of
// groups.
const DecodeGroup = 4

// A Decode is the speed of attention with one query per head.
type Decode struct {
	Level   string `json:"level"` // where keys and values lie: L2, L3 or memory
	KVHeads int    `json:"kv_heads"`
	Keys    int    `json:"keys"`
	Size    int    `json:"head_size"`
	Group   int    `json:"group"` // query heads for each KV head
	Type    string `json:"type"`  // of keys and values
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	Timing
	Flops       float64 `json:"flops"`
	Bytes       float64 `json:"bytes"` // of keys and values
	GBs         float64 `json:"gbs"`
	Read        float64 `json:"read_gbs"`              // of as many threads that only read as much memory
	ReadPercent float64 `json:"read_percent"`          // GBs of Read
	ReadSpread  float64 `json:"read_spread,omitempty"` // interquartile range of the measurements of Read, relative to it
	PeakPercent float64 `json:"peak_percent"`          // of the FMA peak of as many threads
	PeakSpread  float64 `json:"peak_spread,omitempty"` // interquartile range of the measurements of that peak, relative to it
	Tokens      float64 `json:"tokens_s"`              // per second, of one such layer
}

// Accuracy has the errors against float64 beside PyTorch's.
type Accuracy struct {
	PyTorch string         `json:"pytorch"` // version
	CPU     string         `json:"cpu"`     // that PyTorch was measured on
	Tier    string         `json:"tier"`
	Rows    int            `json:"rows"` // of each case
	Cases   []AccuracyCase `json:"cases"`
}

// An AccuracyCase is one input.
type AccuracyCase struct {
	Kind    string `json:"kind"` // attention, linear layer or norm
	Case    string `json:"case"`
	Error   Error  `json:"error"`
	PyTorch Error  `json:"pytorch"`
}

// Tasks of a Model.
const (
	TaskEmbed    = "embed"    // texts of random tokens become vectors
	TaskPrompt   = "prompt"   // a prompt is read
	TaskGenerate = "generate" // tokens follow a short prompt
)

// A Model is the speed of a whole model.
type Model struct {
	Model   string `json:"model"`   // name
	Weights string `json:"weights"` // SHA-256 of the file with its weights
	Shape   string `json:"shape"`   // name for -shapes
	Task    string `json:"task"`    // TaskEmbed, TaskPrompt or TaskGenerate
	Texts   int    `json:"texts"`   // side by side
	Tokens  int    `json:"tokens"`  // of each text: of the input or, of TaskGenerate, of the output
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
	Timing
	Rate   float64 `json:"rate"`   // texts per second of TaskEmbed, and tokens per second of the others
	SHA256 string  `json:"sha256"` // of the bits of all vectors, of the last logits, or of the tokens
}

// Name returns model, task and sizes in a few words.
func (m *Model) Name() string {
	if m.Task == TaskEmbed {
		return fmt.Sprintf("%s, %d × %d tokens", m.Model, m.Texts, m.Tokens)
	}
	what := map[string]string{TaskPrompt: "prompt", TaskGenerate: "generation"}[m.Task]
	return fmt.Sprintf("%s, %s of %d tokens", m.Model, what, m.Tokens)
}

// Unit returns the unit of Rate.
func (m *Model) Unit() string {
	if m.Task == TaskEmbed {
		return "sentences/s"
	}
	return "tokens/s"
}

// A Peer is the time of another program for a shape, as bench/peers/attention.py --json and others
// write it.
type Peer struct {
	Program string  `json:"program"` // with its version
	Shape   string  `json:"shape"`   // name or alias of a shape of Speed or Models, or BackwardPrefix and the name or alias of a shape of Backward
	Threads int     `json:"threads"`
	Ns      float64 `json:"ns"`
}
