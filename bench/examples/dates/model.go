package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/attn-go/attn/bench/examples/internal/weights"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/safetensors"
)

//go:embed data/dates.safetensors
var embedded []byte

// The sizes of the model.
const (
	embeddingSize = 24
	encoderSize   = 48              // of a state of the encoder in one direction
	stateSize     = 2 * encoderSize // of a state of the encoder in both directions, and of the decoder
	hiddenSize    = 48              // of the queries and keys of the attention
)

// A model is an encoder-decoder with additive attention (Bahdanau, Cho, Bengio:
// "Neural Machine Translation by Jointly Learning to Align and Translate"), as
// data/train.py defines it. It is immutable.
type model struct {
	input  []rune // the alphabet of texts; embedding 0 is padding, embedding 1 is input[0]
	output []rune // the alphabet of dates: start, the characters, end

	embedIn, embedOut []float32 // [characters, embeddingSize]
	forward, backward gru       // of the encoder

	queries, keys *linear.Linear // project states for the attention
	scoring       []float32      // the weights of the attention's score

	start    *linear.Linear // makes the first state of the decoder
	decoding gru            // of the decoder
	head     *linear.Linear // makes the logits
}

// The characters before the first and after the last character of a date.
const (
	start = '^'
	end   = '$'
)

// loadDefault loads the model that comes with the program.
func loadDefault() (*model, error) {
	return load(bytes.NewReader(embedded), int64(len(embedded)))
}

// load reads a model from a safetensors file of the given size in bytes. It returns an
// error if the file is damaged or does not hold this model.
func load(r io.ReaderAt, size int64) (*model, error) {
	f, err := safetensors.New(r, size)
	if err != nil {
		return nil, err
	}
	m := &model{}
	if m.input, err = characters(f, "input"); err != nil {
		return nil, err
	}
	if m.output, err = characters(f, "output"); err != nil {
		return nil, err
	}
	if m.output[0] != start || m.output[len(m.output)-1] != end {
		return nil, fmt.Errorf("metadata: the output alphabet is %q, want %q first and %q last", string(m.output), start, end)
	}
	l := weights.NewLoader(f)
	m.load(l)
	return m, l.Err()
}

// characters reads an alphabet from the metadata of a file.
func characters(f *safetensors.File, name string) ([]rune, error) {
	if f.Metadata(name) == "" {
		return nil, fmt.Errorf("the metadata has no %q, the alphabet of the %[1]s: want a model that dates -train has written", name)
	}
	var texts []string
	if err := json.Unmarshal([]byte(f.Metadata(name)), &texts); err != nil {
		return nil, fmt.Errorf("metadata: %s: %w", name, err)
	}
	var runes []rune
	for _, t := range texts {
		r, size := utf8.DecodeRuneInString(t)
		if size == 0 || size != len(t) {
			return nil, fmt.Errorf("metadata: the %s alphabet has %q, want single characters", name, t)
		}
		runes = append(runes, r)
	}
	if len(runes) == 0 {
		return nil, fmt.Errorf("metadata: the %s alphabet is empty", name)
	}
	return runes, nil
}

// load reads the weights.
func (m *model) load(l *weights.Loader) {
	m.embedIn = l.Floats("embed_in.weight", 1+len(m.input), embeddingSize)
	m.embedOut = l.Floats("embed_out.weight", len(m.output), embeddingSize)
	m.forward = loadGRU(l, "encoder", "_l0", encoderSize, embeddingSize)
	m.backward = loadGRU(l, "encoder", "_l0_reverse", encoderSize, embeddingSize)
	m.start = l.Linear("start.weight", "start.bias", stateSize, encoderSize)
	m.keys = l.Linear("U.weight", "", hiddenSize, stateSize)
	m.queries = l.Linear("W.weight", "", hiddenSize, stateSize)
	m.scoring = l.Floats("v.weight", 1, hiddenSize)
	m.decoding = loadGRU(l, "cell", "", stateSize, embeddingSize+stateSize)
	m.head = l.Linear("head.weight", "head.bias", len(m.output), 2*stateSize)
}

// settings say how to compute. They do not change a bit of the results.
type settings struct {
	tier    kernel.Tier // as in kernel.Options
	threads int         // as in kernel.Options
}

// apply runs a linear layer on the rows of x.
func (s settings) apply(l *linear.Linear, out, x []float32) error {
	n, k := l.Shape()
	rows := len(x) / k
	return l.Apply(linear.DenseMatrix(out, rows, n), linear.DenseMatrix(x, rows, k), linear.Options{Exec: kernel.Exec{Tier: s.tier, Threads: s.threads}})
}
