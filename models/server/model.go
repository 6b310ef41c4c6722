package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
)

// A Model is a model that a [Server] serves, by a name. See [models.Model] for the kinds.
type Model struct {
	name         string
	digest       string         // of its files
	files        []receipt.File // for receipts, nil if they are not known
	adapters     []receipt.Adapter
	architecture string
	load         embedding.LoadOptions // of encoders, if the files are known
	exec         *kernel.Exec          // how encoders compute, nil for their own settings
	draft        *decoder.Model        // that guesses for a generator, or nil
	guesses      int                   // of it in a step, or of the layer of the generator
	model        models.Model
	later        *later // of one that is loaded on demand, else nil
}

// LoadOptions are the settings of a model.
type LoadOptions struct {
	kernel.Exec // never changes an answer

	Name string // by which requests name the model; default the base name of its path, without .gguf

	// Of generators, see [decoder.Options].
	Context        int
	CacheType      kernel.DType
	CacheValueType kernel.DType
	Unrotated      bool // of Int4
	DynamicInt12   bool // with a cache of integers

	// Precision is what linear layers compute with, see [decoder.Options] and
	// [embedding.LoadOptions].
	Precision precision.Precision

	LoRA []lora.Adapter // merged into the weights, see [decoder.Options]

	KeepPacked bool // keeps the weights in a file beside the model, see [decoder.Options]

	// DraftModel is a smaller generator of the same vocabulary that guesses Draft tokens of each
	// answer in a step, 4 if it is 0. It changes no answer. Its keys and values share
	// Settings.CacheBytes with the generator's. "" means none. With MTP the layer of the generator
	// guesses them, 1 if Draft is 0, see [decoder.Options].
	DraftModel string
	MTP        bool
	Draft      int
}

// Load opens a model with [models.Open], whose errors it returns, and computes the hash of its
// files.
func Load(model string, o LoadOptions) (*Model, error) {
	if err := o.checkDraft(); err != nil {
		return nil, err
	}
	load := embedding.LoadOptions{Precision: o.Precision, LoRA: o.LoRA, KeepPacked: o.KeepPacked}
	opened, err := models.Open(model, models.Options{
		Embedding: load,
		Generator: decoder.Options{Exec: o.Exec, Context: o.Context, CacheType: o.CacheType, CacheValueType: o.CacheValueType, Unrotated: o.Unrotated, DynamicInt12: o.DynamicInt12, Precision: o.Precision, LoRA: o.LoRA, KeepPacked: o.KeepPacked, MTP: o.MTP},
	})
	if err != nil {
		return nil, err
	}
	if o.Name == "" {
		o.Name = gguf.Name(filepath.Clean(model))
	}
	files, err := receipt.Digests(opened.About().Path)
	digest := digestOf(files)
	if o.Precision != precision.Float32 {
		digest += " " + o.Precision.String()
	}
	merged, bad := receipt.Adapters(o.LoRA)
	for _, a := range merged {
		digest += fmt.Sprintf(" lora %v %s", a.Scale, digestOf(a.Files))
	}
	m := NewModel(o.Name, opened, digest)
	m.files, m.adapters, m.load, m.exec = files, merged, load, &o.Exec
	if err := errors.Join(err, bad); err != nil {
		return nil, err
	}
	if err := m.loadDraft(o); err != nil {
		return nil, err
	}
	return m, nil
}

// ofDraft and ofMTP are where errors of what guesses say that they are.
const (
	ofDraft = "server: LoadOptions.DraftModel"
	ofMTP   = "server: LoadOptions.MTP"
)

// checkDraft reports a number of guesses that does not fit.
func (o *LoadOptions) checkDraft() error {
	const where = "server: LoadOptions.Draft"
	switch {
	case o.Draft < 0:
		return &kernel.Error{Where: where, Got: fmt.Sprint(o.Draft), Want: "1 or more, or 0 for 4, or for 1 with MTP"}
	case o.Draft > 0 && o.DraftModel == "" && !o.MTP:
		return &kernel.Error{Where: where, Got: fmt.Sprintf("%d without DraftModel and MTP", o.Draft), Want: "0, or one of both"}
	case o.MTP && o.DraftModel != "":
		return &kernel.Error{Where: ofMTP, Got: fmt.Sprintf("true with the DraftModel %q", o.DraftModel), Want: "one of both"}
	}
	return nil
}

// loadDraft opens the draft model of a generator.
func (m *Model) loadDraft(o LoadOptions) error {
	x, ok := m.model.(models.Generates)
	if o.MTP && !ok {
		return &kernel.Error{Where: ofMTP, Got: "true for " + kinds[m.model.About().Kind], Want: "false, or a language model"}
	}
	if o.MTP && o.Draft > 0 {
		m.guesses = o.Draft
	}
	if o.DraftModel == "" {
		return nil
	}
	if !ok {
		return &kernel.Error{Where: ofDraft, Got: fmt.Sprintf("%q for %s", o.DraftModel, kinds[m.model.About().Kind]), Want: "none, or a language model to guess for"}
	}
	var err error
	if m.draft, err = models.OpenDraft(o.DraftModel, x.Generator().Options()); err != nil {
		return &kernel.Error{Where: ofDraft, Got: fmt.Sprintf("%q, which cannot be opened: %v", o.DraftModel, err), Want: "a language model that can", Kind: err}
	}
	m.guesses = cmp.Or(o.Draft, 4)
	err = x.Generator().CheckDraft(m.draft)
	if bad := (*kernel.Error)(nil); errors.As(err, &bad) {
		bad.Where = ofDraft
	}
	return err
}

// NewModel returns a model that is open. digest stands for its files, and for options that change
// its results, in the fingerprint. Answers of it have no receipts.
func NewModel(name string, m models.Model, digest string) *Model {
	own := &Model{name: name, digest: digest, architecture: m.About().Architecture, model: m}
	if x, ok := m.(models.Generates); ok && x.Generator().Options().MTP {
		own.guesses = 1
	}
	return own
}

// Name returns the name of the model in requests.
func (m *Model) Name() string { return m.name }

// answers is the version of what the bytes of answers depend on beside the contract, the model and
// the settings: how texts become tokens, how tokens are chosen and how answers are written. Raise
// it with every change of them.
const answers = 6

// digestOf returns a SHA-256 of the files of a model.
func digestOf(files []receipt.File) string {
	h := sha256.New()
	for _, f := range files {
		if len(files) == 1 {
			f.Name = "" // a model of one file may have another name
		}
		fmt.Fprintf(h, "%s %v\n", f.Name, f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fingerprint returns the hash of all that the answers of a model depend on.
func (m *Model) fingerprint(s *Settings) string {
	h := sha256.New()
	fmt.Fprintf(h, "answers %d\ncontract %d\nmodel %s\n", answers, kernel.Contract, m.digest)
	switch x := m.model.(type) {
	case models.Generates:
		g := x.Generator()
		if g.ReadsDate() {
			fmt.Fprintf(h, "date %v\n", s.Date)
		}
		o := g.Options()
		attention := ""
		if o.Precision == precision.BFloat16 {
			attention = "precision bf16\n"
		}
		if o.DynamicInt12 {
			attention += "attention integers\n"
		}
		if o.CachesInt4() && !o.Unrotated {
			attention += "rotation hadamard\n"
		}
		fmt.Fprintf(h, "context %d\ncache %v %v\nint8 %v\n%smax %d\nsampler %+v\n", o.Context, o.CacheType, o.ValueType(), o.Precision == precision.Int8, attention, s.MaxTokens, *s.Sampler)
	case models.Ranks:
		if k := x.Reranker(); k.TakesInstruction() {
			fmt.Fprintf(h, "prompt %v\n", promptTokens(k))
		}
	}
	return "fp_" + hex.EncodeToString(h.Sum(nil)[:8])
}

// promptTokens returns the tokens of a reranker's prompt with some texts. Beside the files of its
// digest they depend on what tells its family: the title of README.md and the name of the folder.
func promptTokens(m *reranking.Reranker) []int32 {
	o := m.Options()
	o.Label = m.Labels()[0]
	pairs, err := m.With(o).Pairs(context.Background(), "a", []string{"b"})
	if err != nil {
		return nil // its answers are this error
	}
	return pairs[0].Tokens()
}
