// Package serve is the command attn serve, which answers HTTP requests with models, in the forms of
// OpenAI's, Anthropic's and Ollama's APIs. An answer does not depend on the load: the same request
// gets the same bytes alone and beside others.
//
//	attn serve -model SmolLM2-135M-Instruct -model all-MiniLM-L6-v2
//	curl -s 127.0.0.1:8080/v1/chat/completions -d '{"model": "SmolLM2-135M-Instruct",
//	  "messages": [{"role": "user", "content": "Why is the sky blue?"}]}'
package serve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/server"
	"github.com/attn-go/attn/models/serving"
)

// Command is attn serve.
var Command = commands.Command{Name: "serve", Summary: "serves models over HTTP, with a page for browsers", Flags: func() *flag.FlagSet { return new(config).flagSet() }, Main: Main}

// Main runs the command.
func Main(args []string) {
	ctx, stop := command.Context()
	defer stop()
	err := run(ctx, args, os.Stdout, os.Stderr)
	if errors.Is(err, context.Canceled) { // how a service ends
		err = nil
	}
	command.Exit("attn serve", err)
}

// config is a parsed command line.
type config struct {
	models   serving.Models
	web      serving.Web
	settings server.Settings
}

const usage = `usage: attn serve -model MODEL [-model MODEL ...] [flags]
       attn serve -models FOLDER [flags]

Serves models over HTTP, with OpenAI's, Anthropic's and Ollama's APIs. A MODEL is a GGUF file, a folder as
Hugging Face has it, or a name that attn fetch downloads. Clients call it by its base name, or by NAME if
the flag is NAME=MODEL.

A request gets the same bytes alone and beside others. Flags that change answers say so, and also change
system_fingerprint.

On SIGTERM or ^C the server takes no more requests, and finishes open ones within -shutdown. A second
signal ends it at once.

`

// flagSet returns the flags, which set c.
func (c *config) flagSet() *flag.FlagSet {
	fs := commands.FlagSet("serve", usage)
	c.models.Flags(fs, &c.settings)
	c.web.Flags(fs, &c.settings, "")
	serving.Kept(fs, &c.settings)
	c.models.FolderFlags(fs, &c.settings)
	return fs
}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := c.flagSet()
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, command.Usage(fmt.Errorf("%q: want no arguments, and models with -model", fs.Arg(0)))
	}
	if err := c.models.Check(&c.settings); err != nil {
		return nil, err
	}
	return c, c.web.Check(&c.settings)
}

// run serves until ctx ends, and then as long as requests take to be answered.
func run(ctx context.Context, args []string, help, report io.Writer) error {
	c, err := parse(args, help)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log := c.web.Log(report)
	c.settings.Logger = log
	l, err := c.web.Listen() // an address that is in use is found before models are loaded; who connects early waits
	if err != nil {
		return err
	}
	handler, err := c.models.Load(ctx, c.settings, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return c.web.Serve(ctx, l, handler, log)
}
