// Command verify checks receipts of package receipt: it computes again what a model has answered, as fast as
// the model reads, on any CPU.
//
//	go run ./models/verify answer.json
//	go run ./models/verify -spot 4 -model model.gguf answer.json
//
// The status is 0 if all receipts hold, 3 if one does not, 2 after a wrong command line, and 1 if one could
// not be verified: it has another form, or the model is not there.
package main

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
	"github.com/attn-go/attn/models/receipt"
)

// fails is the status if a receipt does not hold.
const fails = 3

func main() {
	ctx, stop := command.Context()
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if errors.As(err, new(*receipt.Mismatch)) {
		os.Exit(fails)
	}
	command.Exit("verify", err)
}

// config is a parsed command line.
type config struct {
	model  string
	spot   int
	rehash bool
	key    ed25519.PublicKey
	exec   kernel.Exec
	files  []string

	loaded *decoder.Model
	of     receipt.Model // the loaded one
}

const usage = `usage: verify [flags] FILE...

A FILE has receipts, one a line, as chat -receipt writes them. verify computes each answer again and says
that it holds, or what does not. The status is 0 if all hold, 3 if one does not, 2 after a wrong command
line, and 1 if one could not be verified.

`

func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("verify", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&c.model, "model", "", "`path` of the model: a GGUF file or a folder (default the name that the receipt has)")
	fs.IntVar(&c.spot, "spot", 0, "verify so many tokens of each answer, chosen at random; 0 means all")
	fs.BoolVar(&c.rehash, "rehash", false, "compute the SHA-256 of the model's files, also where it is kept")
	key := fs.String("key", "", "`file` of a public key of Ed25519 in PEM: receipts must be signed by it")
	command.ExecFlags(fs, &c.exec)
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
	if *key != "" {
		data, err := os.ReadFile(*key)
		if err != nil {
			return nil, err
		}
		if c.key, err = receipt.PublicKey(data); err != nil {
			return nil, fmt.Errorf("-key %s: %w", *key, err)
		}
	}
	return c, command.CheckExec(c.exec)
}

// run runs the command. After a receipt that does not hold the others are verified all the same, and the
// error is the first [*receipt.Mismatch]; another error ends it.
func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	var first error
	for _, name := range c.files {
		err := c.file(ctx, name, out)
		if err != nil && !errors.As(err, new(*receipt.Mismatch)) {
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
	f, err := os.Open(name)
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
		switch {
		case err == nil && c.spot > 0 && c.spot < len(r.Tokens):
			fmt.Fprintf(out, "%s:%d: %d of %d tokens hold\n", name, i+1, c.spot, len(r.Tokens))
		case err == nil:
			fmt.Fprintf(out, "%s:%d: all %d tokens hold\n", name, i+1, len(r.Tokens))
		case errors.As(err, new(*receipt.Mismatch)):
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
	return receipt.Verify(ctx, c.of, c.loaded, r, receipt.Options{Spot: c.spot, Random: rand.New(rand.NewChaCha8(seed))})
}

// load loads the model of a receipt, unless it is loaded.
func (c *config) load(r *receipt.Receipt) error {
	name := c.model
	if name == "" {
		// A receipt is what others wrote: it names no path outside of this folder and that of the models.
		if name = r.Model.Name; strings.ContainsAny(name, `/\:`) || !filepath.IsLocal(name) {
			return command.Usage(fmt.Errorf("the receipt names the model %.100q: -model is its path", name))
		}
	}
	d, err := models.Look(name)
	if err != nil {
		return err
	}
	of := receipt.Model{Name: name, Architecture: d.Architecture}
	if of.Files, err = receipt.Files(d.Path, c.rehash); err != nil {
		return err
	}
	if err := r.CheckModel(of); err != nil {
		return err
	}
	o, err := r.Settings.Options()
	if err != nil {
		return err
	}
	o.Exec = c.exec
	if c.loaded != nil && c.of.Name == name {
		c.loaded, err = c.loaded.With(o)
	} else {
		c.loaded, err = models.OpenGenerator(d.Path, o)
	}
	c.of = of
	return err
}
