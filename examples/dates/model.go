package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/attn-go/attn/examples/internal/weights"
	"github.com/attn-go/attn/internal/safetensors"
	"github.com/attn-go/attn/kernel"
)

//go:embed data/dates.safetensors
var embedded []byte

// The sizes of the model.
const (
	embeddingSize = 24
	encoderSize   = 48              // of the states of each direction
	stateSize     = 2 * encoderSize // of the encoder's states, both directions side by side, and of the decoder's
	hiddenSize    = 48              // of the attention's score
)

// A model is an encoder-decoder with additive attention (Bahdanau, Cho, Bengio:
// "Neural Machine Translation by Jointly Learning to Align and Translate"), as
// data/train.py defines it. It is immutable.
type model struct {
	input  []rune // the characters of texts; embedding 0 is padding, 1 the first of them
	output []rune // the characters of dates, with start at the front and end

	embedIn, embedOut []float32 // [characters, embeddingSize]
	forward, backward gru       // the encoder
	start             *kernel.Linear
	keys              *kernel.Linear // of the attention
	queries           *kernel.Linear
	scoring           []float32 // v, the weights of a score
	decoding          gru       // the decoder's
	head              *kernel.Linear
}

// What begins and what ends a date.
const (
	start = '^'
	end   = '$'
)

// loadDefault loads the model that comes with the program.
func loadDefault() (*model, error) {
	return load(bytes.NewReader(embedded), int64(len(embedded)))
}

// load reads a model from a safetensors file of so many bytes. A damaged or lying file
// gets an error.
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
		return nil, fmt.Errorf("metadata: output: %q, want %q at the front and %q at the end", string(m.output), start, end)
	}
	l := weights.NewLoader(f)
	m.load(l)
	return m, l.Err()
}

// characters reads an alphabet from a file's metadata.
func characters(f *safetensors.File, name string) ([]rune, error) {
	var texts []string
	if err := json.Unmarshal([]byte(f.Metadata(name)), &texts); err != nil {
		return nil, fmt.Errorf("metadata: %s: %w", name, err)
	}
	var runes []rune
	for _, t := range texts {
		r, size := utf8.DecodeRuneInString(t)
		if size == 0 || size != len(t) {
			return nil, fmt.Errorf("metadata: %s: %q, want single characters", name, t)
		}
		runes = append(runes, r)
	}
	if len(runes) == 0 {
		return nil, fmt.Errorf("metadata: %s: no characters", name)
	}
	return runes, nil
}

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

// settings say how to compute. None of them changes a bit.
type settings struct {
	tier    string // as kernel.Options.Tier
	threads int    // as kernel.Options.Threads
}

// apply runs a linear layer on the rows of x.
func (s settings) apply(l *kernel.Linear, out, x []float32) error {
	n, k := l.Shape()
	rows := len(x) / k
	return l.Apply(kernel.Rows(out, rows, n), kernel.Rows(x, rows, k), kernel.LinearOptions{Tier: s.tier, Threads: s.threads})
}
