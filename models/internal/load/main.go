// Command load measures package server with models that are there, and prints a table: a language
// model alone and behind HTTP with several clients, the time to the first token while a long prompt
// comes, and sentence embeddings of clients against one batch.
//
//	go run ./models/internal/load -clients 1,8,32
//
// With -url it measures the answers of a server that runs, this one or another one with OpenAI's
// API.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/server"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("load", run(ctx, os.Args[1:], os.Stdout))
}

// config is a parsed command line.
type config struct {
	options     server.LoadOptions
	settings    server.Settings
	chat, embed string
	clients     []int
	answers     int // of each client
	max         int // tokens of an answer
	sentences   int
	vanishing   time.Duration // of clients that vanish; 0 for none
	url         string        // of a server that runs; "" for one in this process
}

// parse parses the command line.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	fs.StringVar(&c.chat, "chat", "SmolLM2-135M-Instruct", "language `model`")
	fs.StringVar(&c.embed, "embed", "all-MiniLM-L6-v2", "`model` of embeddings")
	clients := fs.String("clients", "1,8,32", "numbers of clients")
	fs.IntVar(&c.answers, "answers", 2, "answers that each client asks for")
	fs.IntVar(&c.max, "max", 64, "most tokens of an answer")
	fs.IntVar(&c.sentences, "sentences", 512, "sentences to embed")
	fs.IntVar(&c.options.Context, "ctx", 0, "most `tokens` of a text, as in serve")
	fs.IntVar(&c.settings.StepTokens, "step", 0, "most tokens of prompts in a step while no answer runs, as in serve")
	fs.IntVar(&c.settings.ChunkTokens, "chunk", 0, "most tokens of prompts in a step beside answers, as in serve")
	fs.DurationVar(&c.vanishing, "vanish", 0, "measure nothing but what the server holds before and after so much `time` with clients that vanish, as many as the last number of -clients")
	fs.StringVar(&c.url, "url", "", "`URL` of a server that runs, of which answers alone are measured, such as http://127.0.0.1:8080 (default one in this process)")
	command.ExecFlags(fs, &c.options.Exec)
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	for _, text := range strings.Split(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, command.Usage(fmt.Errorf("-clients is %q, want numbers from 1 on, with commas between them", *clients))
		}
		c.clients = append(c.clients, n)
	}
	if c.vanishing < 0 {
		return nil, command.Usage(errors.New("-vanish: want 0 or more"))
	}
	if c.url != "" && c.vanishing > 0 {
		return nil, command.Usage(errors.New("-vanish: want it without -url, as it counts what this process holds"))
	}
	if c.answers < 1 || c.max < 2 || c.sentences < 1 {
		return nil, command.Usage(errors.New("-answers, -max and -sentences: want 1 or more, and 2 tokens"))
	}
	return c, command.CheckExec(c.options.Exec)
}

// run measures and prints.
func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	url := c.url
	if url != "" {
		client = fresh
	} else {
		var done func()
		if url, done, err = c.serve(); err != nil {
			return err
		}
		defer done()
	}
	if a := c.ask(ctx, url, "Hello.", 2); a.err != nil { // memory that is used for the first time
		return a.err
	}
	if c.vanishing > 0 {
		return c.vanish(ctx, out, url)
	}
	fmt.Fprintln(out, "| | tokens/s | time to first token, median | 99% |\n|---|---|---|---|")
	if c.url == "" {
		if err := c.alone(ctx, out); err != nil {
			return err
		}
	}
	for _, n := range c.clients {
		if err := c.together(ctx, out, url, n); err != nil {
			return err
		}
	}
	if err := c.besideLong(ctx, out, url); err != nil {
		return err
	}
	if c.url != "" {
		return nil
	}
	fmt.Fprintln(out, "\n| | sentences/s |\n|---|---|")
	return c.vectors(ctx, out, url)
}

// serve serves both models at a free port.
func (c *config) serve() (url string, done func(), err error) {
	var list []*server.Model
	for _, name := range []string{c.chat, c.embed} {
		o := c.options
		o.Name = name // requests name a model as the command line does
		m, err := server.Load(name, o)
		if err != nil {
			return "", nil, err
		}
		list = append(list, m)
	}
	c.settings.Logger = slog.New(slog.DiscardHandler)
	s, err := server.New(c.settings, list...)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	web := &http.Server{Handler: s}
	go web.Serve(l)
	return "http://" + l.Addr().String(), func() {
		web.Close()
		s.Close(context.Background())
	}, nil
}
