// Package verify is the command attn verify, which checks receipts of package receipt: it computes
// again what a model has answered, as fast as the model reads, on any CPU.
//
//	attn verify answer.json
//	attn verify -spot 4 -model model.gguf answer.json
//
// The status is 0 if all receipts hold, 3 if one does not, 2 after a wrong command line, and 1 if
// one could not be verified: it has another form, or the model is not there.
package verify

import (
	"context"
	"crypto/ed25519"
	crand "crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/lora"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/reranking"
)

// fails is the status if a receipt does not hold.
const fails = 3

// Command is attn verify.
var Command = commands.Command{Name: "verify", Summary: "checks receipts of answers, vectors and scores by computing them again", Flags: func() *flag.FlagSet { return new(config).flagSet() }, Main: Main}

// Main runs the command.
func Main(args []string) {
	ctx, stop := command.Context()
	defer stop()
	err := run(ctx, args, os.Stdout)
	if errors.Is(err, receipt.ErrMismatch) {
		os.Exit(fails)
	}
	command.Exit("attn verify", err)
}

// config is a parsed command line.
type config struct {
	model   string
	spot    int
	turns   bool
	rehash  bool
	keyFile string
	key     ed25519.PublicKey
	exec    kernel.Exec
	lora    []lora.Adapter
	files   []string

	loaded any           // *decoder.Model, *embedding.Embedder or *reranking.Reranker
	of     receipt.Model // the loaded one
	as     receipt.EmbeddingSettings
}

const usage = `usage: attn verify [flags] FILE...

A FILE has receipts, one a line, from -receipt of chat, embed or rerank, or from the server. verify computes each
again, and says that it holds or what does not. The status is 0 if all hold, 3 if one does not, 2 after a wrong
command line, and 1 if a receipt could not be verified.

`

// flagSet returns the flags, which set c.
func (c *config) flagSet() *flag.FlagSet {
	fs := commands.FlagSet("verify", usage)
	fs.StringVar(&c.model, "model", "", "`path` of the model: a GGUF file or a folder (default: the receipt's name of it)")
	fs.IntVar(&c.spot, "spot", 0, "verify this many tokens, texts or passages of each receipt, chosen at random; 0 means all")
	fs.BoolVar(&c.turns, "session", false, "also verify that the receipts of a file are one conversation: each continues with the answer before it")
	fs.BoolVar(&c.rehash, "rehash", false, "compute the SHA-256 of the model's files, even if it is kept beside them")
	fs.StringVar(&c.keyFile, "key", "", "want receipts whose signatures the public Ed25519 key in this PEM `file` verifies")
	command.LoRAFlag(fs, &c.lora)
	command.ExecFlags(fs, &c.exec)
	return fs
}

func parse(ctx context.Context, args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := c.flagSet()
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	c.files = fs.Args()
	switch {
	case len(c.files) == 0:
		return nil, command.Usage(errors.New("no file is named: want files of receipts"))
	case c.spot < 0:
		return nil, command.Usage(fmt.Errorf("-spot is %d, want 0 or more", c.spot))
	}
	if c.keyFile != "" {
		data, err := command.ReadFile(ctx, c.keyFile)
		if err != nil {
			return nil, err
		}
		if c.key, err = receipt.PublicKey(data); err != nil {
			return nil, fmt.Errorf("-key %s: %w", c.keyFile, err)
		}
	}
	return c, command.CheckExec(c.exec)
}

// run runs the command. After a receipt that does not hold the others are verified all the same,
// and the error is the first of the kind [receipt.ErrMismatch]; another error ends it.
func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(ctx, args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	var first error
	for _, name := range c.files {
		err := c.file(ctx, name, out)
		if err != nil && !errors.Is(err, receipt.ErrMismatch) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// file verifies the receipts of a file, and returns the first error.
func (c *config) file(ctx context.Context, name string, out io.Writer) (first error) {
	f, err := command.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := receipt.Read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i, r := range all {
		err := c.verify(ctx, r)
		if err == nil && c.turns && i > 0 {
			err = c.follows(ctx, all[i-1], r)
		}
		n, what := parts(r)
		switch {
		case err == nil && c.spot > 0 && c.spot < n:
			fmt.Fprintf(out, "%s:%d: %d of %d %s hold\n", name, i+1, c.spot, n, what)
		case err == nil:
			fmt.Fprintf(out, "%s:%d: all %d %s hold\n", name, i+1, n, what)
		case errors.Is(err, receipt.ErrMismatch):
			fmt.Fprintf(out, "%s:%d: does not hold: %v\n", name, i+1, err)
		default:
			return fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// follows verifies that a receipt, of the model that is loaded, goes on from the one before it.
func (c *config) follows(ctx context.Context, before, r *receipt.Receipt) error {
	m, ok := c.loaded.(*decoder.Model)
	if !ok {
		return command.Usage(errors.New("-session is for receipts of conversations"))
	}
	return receipt.Follows(ctx, m, before, r)
}

// parts returns how many things a receipt has, and what they are.
func parts(r *receipt.Receipt) (n int, what string) {
	switch {
	case r.Embeddings != nil:
		return len(r.Embeddings.Texts), "texts"
	case r.Ranking != nil:
		return len(r.Ranking.Passages), "passages"
	}
	return len(r.Tokens), "tokens"
}

// verify verifies a receipt. What costs little comes first, so that no model is loaded in vain.
func (c *config) verify(ctx context.Context, r *receipt.Receipt) error {
	if c.key != nil {
		if err := r.CheckKey(c.key); err != nil {
			return err
		}
	}
	if err := c.load(r); err != nil {
		return err
	}
	var seed [32]byte
	crand.Read(seed[:]) // never fails
	o := receipt.Options{Spot: c.spot, Random: rand.New(rand.NewChaCha8(seed))}
	switch m := c.loaded.(type) {
	case *embedding.Embedder:
		return receipt.VerifyEmbeddings(ctx, c.of, m, r, o)
	case *reranking.Reranker:
		return receipt.VerifyRanking(ctx, c.of, m, r, o)
	default:
		return receipt.Verify(ctx, c.of, m.(*decoder.Model), r, o)
	}
}

// load loads the model of a receipt, unless it is loaded.
func (c *config) load(r *receipt.Receipt) error {
	name := c.model
	if name == "" {
		// A receipt is what others wrote: it names no path outside of this folder and the models'
		// folder.
		if name = r.Model.Name; strings.ContainsAny(name, `/\:`) || !filepath.IsLocal(name) {
			return command.Usage(fmt.Errorf("the receipt names the model %.100q: -model is its path", name))
		}
	}
	d, err := models.Describe(name)
	if err != nil {
		return err
	}
	of := receipt.Model{Name: name, Architecture: d.Architecture}
	if of.Files, err = receipt.Files(d.Path, c.rehash); err != nil {
		return err
	}
	if of.Adapters, err = receipt.Adapters(c.lora); err != nil {
		return err
	}
	if err := r.CheckModel(of); err != nil {
		return err
	}
	if c.loaded, err = c.open(d.Path, name, r); err == nil {
		c.of = of
	}
	return err
}

// open returns the model for a receipt: the loaded one if it is that, with the receipt's settings.
func (c *config) open(path, name string, r *receipt.Receipt) (any, error) {
	same := c.of.Name == name
	if r.Generation != nil {
		o, err := r.Settings.Options()
		if err != nil {
			return nil, err
		}
		o.Exec, o.LoRA = c.exec, c.lora
		if m, ok := c.loaded.(*decoder.Model); ok && same {
			return m.With(o)
		}
		return models.OpenGenerator(path, o)
	}
	var settings receipt.EmbeddingSettings
	if r.Embeddings != nil {
		settings = r.Embeddings.Settings
		settings.Prompt, settings.Dimensions = "", 0 // which receipt.VerifyEmbeddings sets
	} else {
		settings.Int8, settings.BFloat16 = r.Ranking.Int8, r.Ranking.BFloat16
	}
	same = same && settings == c.as
	c.as = settings
	as := settings.LoadOptions()
	as.LoRA = c.lora
	switch m := c.loaded.(type) {
	case *embedding.Embedder:
		if same && r.Embeddings != nil {
			return m, nil
		}
	case *reranking.Reranker:
		if same && r.Ranking != nil {
			return m, nil
		}
	}
	if r.Ranking != nil {
		k, err := models.OpenReranker(path, as)
		if err != nil {
			return nil, err
		}
		return k.With(reranking.Options{Exec: c.exec}), nil
	}
	e, err := models.OpenEmbedder(path, as)
	if err != nil {
		return nil, err
	}
	return e.With(embedding.Options{Exec: c.exec}), nil
}
