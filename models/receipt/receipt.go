// Package receipt proves what a model has answered. Results have the same bits on every CPU, and
// reading an answer gives the bits of generating it. So whoever has the model can check an answer
// of n tokens by reading n tokens.
//
// A [Receipt] names the version of the numeric contract and the SHA-256 of each file of the model,
// and has either of these:
//
//   - [Generation]: the settings, the tokens read, the tokens generated, and for each of these a
//     hash of the logits that it was chosen from, h[i] = SHA-256(h[i-1] ‖ logits[i]), where h[-1]
//     is 32 zero bytes. [Verify] computes the logits again, compares the hashes, and repeats the
//     choice of each token with the sampler and its seed.
//   - [Embeddings]: texts, their tokens, and the SHA-256 of each vector, which [VerifyEmbeddings]
//     computes again.
//   - [Ranking]: a query, passages, their tokens, and the SHA-256 of each score, for
//     [VerifyRanking].
//
// Numbers are hashed as float32, little-endian. A file of receipts has one JSON object a line.
// schema.json, the JSON Schema of it, is [Schema].
package receipt

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/grammar"
	"github.com/attn-go/attn/models/precision"
)

// Schema is the JSON Schema of a receipt.
//
//go:embed schema.json
var Schema []byte

// Version is the version of the form of receipts.
const Version = 1

// A Receipt says what a model has computed, and lets others check it. Either Generation, Embeddings
// or Ranking is not nil.
type Receipt struct {
	Version  int   `json:"version"`  // [Version]
	Contract int   `json:"contract"` // kernel.Contract
	Model    Model `json:"model"`

	*Generation `json:"generation,omitempty"`
	Embeddings  *Embeddings `json:"embeddings,omitempty"`
	Ranking     *Ranking    `json:"ranking,omitempty"`

	Signature *Signature `json:"signature,omitempty"`
}

// A Generation is what a model of language has generated.
type Generation struct {
	Settings Settings `json:"settings"`
	Sampler  Sampler  `json:"sampler"`

	MaxTokens int      `json:"max_tokens"` // 0 is no limit but the context
	Stop      []int32  `json:"stop"`       // tokens that end the text
	StopText  []string `json:"stop_text,omitempty"`

	Markers []int32 `json:"markers,omitempty"` // special tokens that are part of the text
	Budget  *Budget `json:"budget,omitempty"`  // of thinking

	// Grammar, if not nil, limits what may follow. Hashes are of the logits before that.
	Grammar *Grammar `json:"grammar,omitempty"`

	Conversation

	Prompt []int32 `json:"prompt"` // tokens read
	Tokens []int32 `json:"tokens"` // tokens generated, with the token of Stop that ends them
	Hashes []Hash  `json:"hashes"` // of each token's logits
	Text   string  `json:"text"`   // of Tokens
	End    string  `json:"end"`    // why the text ends, see [decoder.End]; "going" if it was left
}

// A Model names a model by its files.
type Model struct {
	Name         string `json:"name"` // for people, and to find it; no path
	Architecture string `json:"architecture"`
	Files        []File `json:"files"` // weights, tokenizer and settings

	Adapters []Adapter `json:"adapters,omitempty"` // that are merged into the weights, in their order
}

// An Adapter is one that is merged into the weights, see package lora.
type Adapter struct {
	Scale float64 `json:"scale"`
	Files []File  `json:"files"`
}

// A File is a file that results depend on.
type File struct {
	Name   string `json:"name"` // below the model's folder, with slashes
	SHA256 Hash   `json:"sha256"`
}

// Settings are the [decoder.Options] that change results.
type Settings struct {
	Context     int    `json:"context"`
	Cache       string `json:"cache"` // type of the keys, such as float32
	CacheValues string `json:"cache_values"`
	Int8        bool   `json:"int8"`               // Precision is precision.Int8
	BFloat16    bool   `json:"bfloat16,omitempty"` // Precision is precision.BFloat16
	Quantized   bool   `json:"quantized,omitempty"`
	Rotated     bool   `json:"rotated,omitempty"` // keys or values of int4, see decoder.Options
}

// A Grammar is a [grammar.Source].
type Grammar struct {
	Form string `json:"form"` // "gbnf" or "json schema"
	Text string `json:"text"`
}

// The forms of a grammar.
const (
	formGBNF   = "gbnf"
	formSchema = "json schema"
)

// A Budget is a [decoder.Budget].
type Budget struct {
	Begin  string `json:"begin"`
	End    string `json:"end"`
	Open   bool   `json:"open"`
	Tokens int    `json:"tokens"`
}

// A Sampler is a [decoder.Sampler].
type Sampler struct {
	Temperature       float64 `json:"temperature"`
	TopK              int     `json:"top_k"`
	TopP              float64 `json:"top_p"`
	MinP              float64 `json:"min_p"`
	RepetitionPenalty float64 `json:"repetition_penalty"`
	FrequencyPenalty  float64 `json:"frequency_penalty"`
	PresencePenalty   float64 `json:"presence_penalty"`
	PenaltyWindow     int     `json:"penalty_window"`
	Seed              uint64  `json:"seed"`
}

// A Hash is a SHA-256, in JSON 64 hexadecimal digits.
type Hash [32]byte

// String returns the digits.
func (h Hash) String() string { return fmt.Sprintf("%x", h[:]) }

// MarshalText returns the digits.
func (h Hash) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", h[:]), nil }

// UnmarshalText reads 64 digits, a to f in lower case.
func (h *Hash) UnmarshalText(text []byte) error { return unhex(h[:], text, "a SHA-256") }

// The limits of a file of receipts.
const (
	MostBytes    = 64 << 20 // of a receipt
	MostTokens   = 1 << 20  // of prompt and answer together
	MostReceipts = 1 << 16  // of a file
	mostFiles    = 1 << 12
	mostAdapters = 64
	mostStops    = 1 << 12
)

// Read reads all receipts of a file, one a line, and checks their form. The error is a
// [*kernel.Error] or comes from r.
func Read(r io.Reader) ([]*Receipt, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, MostBytes)
	var all []*Receipt
	for lines.Scan() {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		if len(all) == MostReceipts {
			return nil, &kernel.Error{Where: "receipt: file", Got: "more receipts", Want: fmt.Sprintf("at most %d", MostReceipts)}
		}
		one, err := Parse(lines.Bytes())
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &kernel.Error{Where: "receipt: file", Got: "a longer line", Want: fmt.Sprintf("at most %d bytes", MostBytes)}
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, &kernel.Error{Where: "receipt: file", Got: "no receipt", Want: "one a line"}
	}
	return all, nil
}

// Parse reads a receipt and checks its form. The error is a [*kernel.Error].
func Parse(data []byte) (*Receipt, error) {
	if len(data) > MostBytes {
		return nil, &kernel.Error{Where: "receipt: file", Got: fmt.Sprintf("%d bytes", len(data)), Want: fmt.Sprintf("at most %d", MostBytes)}
	}
	r := &Receipt{}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, &kernel.Error{Where: "receipt: file", Got: err.Error(), Want: "a JSON object of schema.json"}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &kernel.Error{Where: "receipt: file", Got: "more after the object", Want: "one receipt a line"}
	}
	return r, r.check()
}

// Bytes returns the receipt as a line of a file.
func (r *Receipt) Bytes() ([]byte, error) {
	data, err := json.Marshal(r)
	return append(data, '\n'), err
}

func bad(field string, got, want any) error {
	return &kernel.Error{Where: "receipt: " + field, Got: fmt.Sprint(got), Want: fmt.Sprint(want)}
}

// check reports what is not of the form, or what this version cannot verify.
func (r *Receipt) check() error {
	if r.Version != Version {
		return bad("version", r.Version, Version)
	}
	if err := r.Model.check(); err != nil {
		return err
	}
	switch {
	case r.Generation != nil && r.Embeddings == nil && r.Ranking == nil:
		return r.Generation.check()
	case r.Generation == nil && r.Embeddings != nil && r.Ranking == nil:
		return r.Embeddings.check()
	case r.Generation == nil && r.Embeddings == nil && r.Ranking != nil:
		return r.Ranking.check()
	}
	return bad("file", "none or several", "one of generation, embeddings and ranking")
}

func (m *Model) check() error {
	if n := len(m.Files); n < 1 || n > mostFiles {
		return bad("model.files", n, fmt.Sprintf("1 to %d", mostFiles))
	}
	names := []string{m.Name, m.Architecture}
	if len(m.Adapters) > mostAdapters {
		return bad("model.adapters", len(m.Adapters), fmt.Sprintf("at most %d", mostAdapters))
	}
	files := slices.Clone(m.Files)
	for _, a := range m.Adapters {
		if n := len(a.Files); n < 1 || n > mostFiles {
			return bad("model.adapters", fmt.Sprintf("one of %d files", n), fmt.Sprintf("1 to %d", mostFiles))
		}
		files = append(files, a.Files...)
	}
	for _, f := range files {
		names = append(names, f.Name)
	}
	for _, name := range names {
		if !utf8.ValidString(name) {
			return bad("model", fmt.Sprintf("the name %.100q", name), "names in UTF-8")
		}
	}
	return nil
}

func (r *Generation) check() error {
	switch {
	case len(r.Prompt) < 1:
		return bad("prompt", "no token", "at least one")
	case len(r.Prompt) > MostTokens || len(r.Tokens) > MostTokens-len(r.Prompt):
		return bad("tokens", fmt.Sprintf("%d after %d", len(r.Tokens), len(r.Prompt)), fmt.Sprintf("at most %d together", MostTokens))
	case len(r.Tokens) < 1:
		return bad("tokens", "none", "at least one")
	case len(r.Hashes) != len(r.Tokens):
		return bad("hashes", len(r.Hashes), fmt.Sprintf("%d, one for each token", len(r.Tokens)))
	case len(r.Markers) > mostStops:
		return bad("markers", len(r.Markers), fmt.Sprintf("at most %d", mostStops))
	case len(r.Stop) > mostStops:
		return bad("stop", len(r.Stop), fmt.Sprintf("at most %d", mostStops))
	case r.Settings.Context < 1:
		return bad("settings.context", r.Settings.Context, "1 or more")
	case len(r.Prompt)+len(r.Tokens) > r.Settings.Context+1:
		return bad("tokens", fmt.Sprintf("%d after %d", len(r.Tokens), len(r.Prompt)), fmt.Sprintf("at most %d, the context and one", r.Settings.Context+1))
	}
	if err := r.Conversation.check(); err != nil {
		return err
	}
	if g := r.Grammar; g != nil && g.Form != formGBNF && g.Form != formSchema {
		return bad("grammar.form", fmt.Sprintf("%.20q", g.Form), fmt.Sprintf("%q or %q", formGBNF, formSchema))
	}
	if _, err := r.Settings.Options(); err != nil {
		return err
	}
	o := r.options()
	if err := o.Check(); err != nil {
		return &kernel.Error{Where: "receipt: sampler", Got: err.Error(), Want: "settings of package decoder"}
	}
	return nil
}

var types = []kernel.DType{kernel.Float32, kernel.Float16, kernel.BFloat16, kernel.Int8, kernel.Int4}

// Options returns the options to load the model with. The error is a [*kernel.Error].
func (s *Settings) Options() (o decoder.Options, err error) {
	kind := func(field, name string) (kernel.DType, error) {
		for _, t := range types {
			if t.String() == name {
				return t, nil
			}
		}
		return 0, &kernel.Error{Where: "receipt: " + field, Got: fmt.Sprintf("%.20q", name), Want: fmt.Sprint(types)}
	}
	if o.Precision, err = precisionOf("settings", s.Int8, s.BFloat16); err != nil {
		return o, err
	}
	o.Context, o.DynamicInt12 = s.Context, s.Quantized
	if o.CacheType, err = kind("settings.cache", s.Cache); err != nil {
		return o, err
	}
	if o.CacheValueType, err = kind("settings.cache_values", s.CacheValues); err != nil {
		return o, err
	}
	o.Unrotated = o.CachesInt4() && !s.Rotated
	if err := o.Check(); err != nil {
		return o, &kernel.Error{Where: "receipt: settings", Got: err.Error(), Want: "options of package decoder"}
	}
	if s.Rotated && !o.CachesInt4() {
		return o, &kernel.Error{Where: "receipt: settings.rotated", Got: "true", Want: "false without a cache of int4"}
	}
	if settingsOf(&o) != *s {
		return o, &kernel.Error{Where: "receipt: settings.cache_values", Got: s.CacheValues, Want: s.Cache + ", as the keys are of another type"}
	}
	return o, nil
}

// precisionOf returns the precision that two fields of a receipt name.
func precisionOf(field string, int8, bfloat16 bool) (precision.Precision, error) {
	switch {
	case int8 && bfloat16:
		return 0, &kernel.Error{Where: "receipt: " + field + ".bfloat16", Got: "true", Want: "false beside int8"}
	case int8:
		return precision.Int8, nil
	case bfloat16:
		return precision.BFloat16, nil
	}
	return precision.Float32, nil
}

func settingsOf(o *decoder.Options) Settings {
	return Settings{o.Context, o.CacheType.String(), o.ValueType().String(), o.Precision == precision.Int8, o.Precision == precision.BFloat16, o.DynamicInt12, o.CachesInt4() && !o.Unrotated}
}

// grammarOf returns the grammar of generating, nil without one.
func (r *Generation) grammarOf() (*grammar.Grammar, error) {
	if r.Grammar == nil {
		return nil, nil
	}
	g, err := grammar.Source{Text: r.Grammar.Text, JSON: r.Grammar.Form == formSchema}.Grammar()
	if err != nil {
		return nil, &kernel.Error{Where: "receipt: grammar.text", Got: err.Error(), Want: "one of package grammar"}
	}
	return g, nil
}

// options returns what the text was generated with, but for the grammar.
func (r *Generation) options() decoder.GenerateOptions {
	o := decoder.GenerateOptions{MaxTokens: r.MaxTokens, Stop: r.Stop, StopText: r.StopText, Sampler: decoder.Sampler(r.Sampler)}
	if o.Stop == nil {
		o.Stop = []int32{}
	}
	if o.Markers = r.Markers; r.Budget != nil {
		o.Budget = (*decoder.Budget)(r.Budget)
	}
	return o
}
