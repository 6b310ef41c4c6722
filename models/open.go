package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/folder"
	"github.com/attn-go/attn/models/internal/tensors"
	"github.com/attn-go/attn/models/precision"
	"github.com/attn-go/attn/models/reranking"
	"github.com/attn-go/attn/models/static"
	"github.com/attn-go/attn/models/weights"
)

// A Kind is what a model is for.
type Kind string

// The kinds.
const (
	KindEmbedder  Kind = "embedder"  // makes vectors of texts
	KindReranker  Kind = "reranker"  // scores passages for a query
	KindGenerator Kind = "generator" // continues texts, and answers if it has a chat template
)

// commands are those that take models of a kind.
var commands = map[Kind]string{KindEmbedder: "embed", KindReranker: "rerank", KindGenerator: "chat"}

// A Description says what the files of a model are.
type Description struct {
	Path         string // of the folder or the GGUF file
	GGUF         bool   // a GGUF file; otherwise a folder as Hugging Face has it
	Architecture string // general.architecture or model_type
	Kind         Kind
	family       family
	late         bool   // a reranker that makes vectors of tokens, and so is an embedder, too
	source       string // the GGUF file, or the folder of the weights, which may lie in the model's
}

// EmbedsTokens tells whether a reranker makes vectors of tokens, and so is an embedder, too, for
// [OpenEmbedder].
func (d *Description) EmbedsTokens() bool { return d.late }

// A family is a package that computes models.
type family int

const (
	encoders family = iota
	decoders
	tables
)

// Describe finds a model as [weights.Resolve] does, reads the beginning of its files and says what
// it is. An architecture that no package computes is a [*kernel.Error] that lists those that are,
// and a file or folder of another kind is an error that says what is expected.
func Describe(model string) (*Description, error) {
	path, err := weights.Resolve(model)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	d := &Description{Path: path, GGUF: !info.IsDir(), source: path}
	if d.GGUF {
		return d, d.lookAtFile()
	}
	return d, d.lookAtFolder()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// family sets the family of an architecture. known are the names in its format, of each family.
func (d *Description) setFamily(file, key string, known map[family][]string) error {
	var all []string
	for _, f := range []family{encoders, decoders, tables} {
		if slices.Contains(known[f], d.Architecture) {
			d.family = f
			return nil
		}
		all = append(all, known[f]...)
	}
	slices.Sort(all)
	return &kernel.Error{Where: file + ": " + key, Got: fmt.Sprintf("%q", d.Architecture), Want: "one of " + strings.Join(all, ", ")}
}

func (d *Description) lookAtFile() error {
	f, err := gguf.Open(d.Path)
	if err != nil {
		if dir := filepath.Dir(d.Path); errors.Is(err, gguf.ErrFormat) && filepath.Ext(d.Path) != ".gguf" && isFile(filepath.Join(dir, configName)) {
			return &kernel.Error{Where: d.Path + ": the model", Got: "a file of a folder", Want: "the folder, " + dir + ", or a GGUF file"}
		}
		return err
	}
	defer f.Close()
	const key = "general.architecture"
	if d.Architecture, err = f.String(key); err != nil {
		return fmt.Errorf("%s: %w", d.Path, err)
	}
	_, ofEncoders := encoder.Architectures()
	_, ofDecoders := decoder.Architectures()
	if err := d.setFamily(d.Path, key, map[family][]string{encoders: ofEncoders, decoders: ofDecoders}); err != nil {
		return err
	}
	pooling, err := f.Int(d.Architecture + ".pooling_type")
	switch {
	case err == nil && pooling == 4:
		d.Kind = KindReranker
	case err == nil || d.family == encoders || d.Architecture == "gemma-embedding":
		d.Kind = KindEmbedder
	default:
		d.Kind = KindGenerator
	}
	return nil
}

const configName, modulesName = "config.json", "modules.json"

func (d *Description) lookAtFolder() error {
	d.source = folder.Transformer(d.Path)
	path := filepath.Join(d.source, configName)
	var c struct {
		Type          string   `json:"model_type"`
		Architectures []string `json:"architectures"`
	}
	if err := folder.ReadJSON(path, &c); errors.Is(err, fs.ErrNotExist) {
		if ok, bad := d.isTable(); ok {
			return bad
		}
		if f, bad := tensors.Open(d.source); bad == nil {
			f.Close()
		} else if errors.As(bad, new(*kernel.Error)) { // such as an adapter alone
			return bad
		}
		return fmt.Errorf("models: want a GGUF file, or a folder as Hugging Face has it with %s and %s: %w", configName, "model.safetensors", err)
	} else if err != nil {
		return err
	}
	d.Architecture = c.Type
	ofEncoders, _ := encoder.Architectures()
	ofDecoders, _ := decoder.Architectures()
	if err := d.setFamily(path, "model_type", map[family][]string{encoders: ofEncoders, decoders: ofDecoders, tables: {static.Model2Vec}}); err != nil {
		return err
	}
	ranks, err := d.hasRanks(c.Architectures)
	if err != nil {
		return err
	}
	d.late = d.family == encoders && folder.IsLate(d.Path)
	_, err = os.Stat(filepath.Join(d.Path, modulesName))
	switch {
	case ranks || d.late:
		d.Kind = KindReranker
	case d.family != decoders || err == nil:
		d.Kind = KindEmbedder
	default:
		d.Kind = KindGenerator
	}
	return nil
}

// isTable tells whether a folder has a StaticEmbedding of sentence-transformers, and describes it.
// It is an error if weights lie in another folder than the model's or one below it.
func (d *Description) isTable() (bool, error) {
	var list []struct{ Path, Type string }
	if err := folder.ReadJSON(filepath.Join(d.Path, modulesName), &list); err != nil || len(list) == 0 || !strings.HasSuffix(list[0].Type, "."+static.StaticEmbedding) {
		return false, nil
	}
	if at := list[0].Path; at != "" && !filepath.IsLocal(filepath.FromSlash(at)) {
		return true, &kernel.Error{Where: filepath.Join(d.Path, modulesName) + ": module 0", Got: fmt.Sprintf("the path %q", at), Want: "the folder of the model, or one below it"}
	}
	d.source = filepath.Join(d.Path, filepath.FromSlash(list[0].Path))
	d.Architecture, d.Kind, d.family = static.StaticEmbedding, KindEmbedder, tables
	return true, nil
}

// hasRanks tells whether a folder has a reranker, with classes of transformers.
func (d *Description) hasRanks(classes []string) (bool, error) {
	switch {
	case d.family == tables:
		return false, nil
	case slices.ContainsFunc(classes, func(class string) bool { return strings.HasSuffix(class, "ForSequenceClassification") }):
		return true, nil
	case d.family == decoders:
		return decoder.Ranks(d.Path)
	}
	return hasClassifier(d.source), nil
}

// hasClassifier tells whether a folder has the tensors of a classifier. Weights that cannot be read
// are found when they are loaded.
func hasClassifier(dir string) bool {
	f, err := tensors.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.ContainsFunc(f.Names(), func(name string) bool { return strings.HasPrefix(name, "classifier.") })
}

// ErrKind is the kind of a [kernel.Error] about a model of another kind than is wanted.
var ErrKind = errors.New("models: a model of another kind")

// check reports a model of another kind, and which command takes it.
func (d *Description) check(want Kind) error {
	if d.Kind == want || d.late && want == KindEmbedder {
		return nil
	}
	return &kernel.Error{Where: d.Path + ": the model", Got: fmt.Sprintf("a %s model of the kind %s", d.Architecture, d.Kind),
		Want: fmt.Sprintf("the kind %s; the command %s takes this one", want, commands[d.Kind]), Kind: ErrKind}
}

// Options are the settings of loading a model.
type Options struct {
	Embedding embedding.LoadOptions // of embedders, and Int8 and Context of rerankers
	Generator decoder.Options       // of generators
}

// A Model is a model that is loaded. What it does, an assertion tells: it is an [Embeds], a [Ranks]
// or a [Generates], as the kind in About says.
type Model interface {
	About() *Description
}

// Embeds is a [Model] that makes vectors of texts.
type Embeds interface {
	Model
	Embedder() *embedding.Embedder
}

// Ranks is a [Model] that scores passages for a query.
type Ranks interface {
	Model
	Reranker() *reranking.Reranker
}

// Generates is a [Model] that continues texts.
type Generates interface {
	Model
	Generator() *decoder.Model
}

// What [Open] returns.
type (
	embeds struct {
		about
		model *embedding.Embedder
	}
	ranks struct {
		about
		model *reranking.Reranker
	}
	generates struct {
		about
		model *decoder.Model
	}
)

// about is what they have in common. A Description has no About itself, as it is no [Model].
type about struct{ d *Description }

// About implements [Model].
func (a about) About() *Description { return a.d }

func (m embeds) Embedder() *embedding.Embedder { return m.model }
func (m ranks) Reranker() *reranking.Reranker  { return m.model }
func (m generates) Generator() *decoder.Model  { return m.model }

// Open loads a model of any kind. Errors come from [Describe], [encoder.Load],
// [encoder.LoadReranker], [decoder.LoadReranker], [decoder.LoadEmbedder] or [decoder.Load].
func Open(model string, o Options) (Model, error) {
	d, err := Describe(model)
	if err != nil {
		return nil, err
	}
	var m Model
	switch d.Kind {
	case KindEmbedder:
		m, err = d.embeds(o)
	case KindReranker:
		m, err = d.ranks(o)
	default:
		m, err = d.generates(o)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (d *Description) embeds(o Options) (m embeds, err error) {
	m.d = d
	switch d.family {
	case tables:
		m.model, err = static.Load(d.Path, o.Embedding)
	case decoders:
		m.model, err = decoder.LoadEmbedder(d.Path, o.Embedding)
	default:
		var e *encoder.Encoder
		if e, err = encoder.Load(d.Path, o.Embedding); err == nil {
			m.model = e.Embedder
		}
	}
	return m, err
}

func (d *Description) ranks(o Options) (m ranks, err error) {
	m.d = d
	if d.family == decoders {
		m.model, err = decoder.LoadReranker(d.Path, o.Embedding)
	} else {
		m.model, err = encoder.LoadReranker(d.Path, o.Embedding)
	}
	return m, err
}

func (d *Description) generates(o Options) (m generates, err error) {
	m.d = d
	m.model, err = decoder.Load(d.Path, o.Generator)
	return m, err
}

// openKind is [Open] for a model of a kind, which open loads.
func openKind[M any](model string, kind Kind, o Options, open func(*Description, Options) (M, error)) (m M, err error) {
	d, err := Describe(model)
	if err == nil {
		err = d.check(kind)
	}
	if err != nil {
		return m, err
	}
	return open(d, o)
}

// OpenEmbedder is [Open] for a model that must be an embedder, or else the error is of the kind
// [ErrKind].
func OpenEmbedder(model string, o embedding.LoadOptions) (*embedding.Embedder, error) {
	m, err := openKind(model, KindEmbedder, Options{Embedding: o}, (*Description).embeds)
	return m.model, err
}

// OpenReranker is [Open] for a model that must be a reranker, or else the error is of the kind
// [ErrKind].
func OpenReranker(model string, o embedding.LoadOptions) (*reranking.Reranker, error) {
	m, err := openKind(model, KindReranker, Options{Embedding: o}, (*Description).ranks)
	return m.model, err
}

// OpenDraft opens a generator that guesses how texts go on for another one, whose options these
// are: with its precision and its context if it can have them, as neither changes a text. The error
// comes from [OpenGenerator].
func OpenDraft(model string, of decoder.Options) (*decoder.Model, error) {
	o := decoder.Options{Exec: of.Exec, Context: of.Context, Precision: of.Precision, KeepPacked: of.KeepPacked, PageSize: of.PageSize}
	for {
		m, err := OpenGenerator(model, o)
		var bad *kernel.Error
		switch errors.As(err, &bad); {
		case bad != nil && bad.Arg() == "Options.Precision" && o.Precision != precision.Float32:
			o.Precision = precision.Float32
		case bad != nil && bad.Arg() == "Options.Context" && o.Context != 0:
			o.Context = 0
		default:
			return m, err
		}
	}
}

// OpenGenerator is [Open] for a model that must be a generator, or else the error is of the kind
// [ErrKind].
func OpenGenerator(model string, o decoder.Options) (*decoder.Model, error) {
	m, err := openKind(model, KindGenerator, Options{Generator: o}, (*Description).generates)
	return m.model, err
}
