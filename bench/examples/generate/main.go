// Command generate continues a text with gobytes, a small language model that was trained
// on the sources of Go's standard library, computed by package kernel alone. The text is
// the same on every CPU and with any number of threads.
//
//	go run ./bench/examples/generate -text 'func '
//
// With -train it trains such a model on a text, and prints a hash of the weights, which is the same on
// every machine. With -heatmap it draws what the model attends to as it reads the prompt.
//
//	go run ./bench/examples/generate -train FILE
//	go run ./bench/examples/generate -text 'func main() {' -max 0 -heatmap FILE.svg
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/gobytes"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("generate", run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// config is a parsed command line.
type config struct {
	prompt      string
	file        string // of the model; "" is gobytes
	n           int    // the most bytes to append
	temperature float64
	seed        uint64
	settings    gobytes.Settings
	heatmap     string // the file to draw; "" draws none
	layer       int    // that is drawn

	text     string // the file of a text to train on; "" generates
	resumes  bool
	schedule schedule // but for the seed
}

const usage = `usage: generate [flags]
       generate -train FILE [flags]

Continues a prompt, byte by byte, with gobytes, a small language model trained on Go's standard
library. The text goes to standard output, the speed to standard error. With -train it trains such
a model on a text and prints a hash of the weights, which is the same on every machine.

`

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("generate", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&c.prompt, "text", "func ", "the `text` to continue")
	fs.StringVar(&c.file, "model", "", "safetensors `file` of another model of the same architecture; with -train the file that is\nwritten every 250 steps and at the end (default: none is written)")
	fs.IntVar(&c.n, "max", 240, "most bytes to append; fewer if the model's context is full before")
	fs.Float64Var(&c.temperature, "temp", 0.7, "bytes are drawn at random: by the probabilities of the model at 1, more often the\nprobable ones below; 0 always takes the most probable byte, which often repeats itself")
	fs.Uint64Var(&c.seed, "seed", 1, "seed of the random draws; the same seed gives the same text, or with -train the same weights,\non every CPU")
	exec := kernel.Exec{Threads: 1}
	command.ExecFlags(fs, &exec)
	fs.StringVar(&c.heatmap, "heatmap", "", "SVG `file` to draw the attention weights of the prompt into")
	fs.IntVar(&c.layer, "layer", 1, "with -heatmap: `number` of the layer, from 0")
	fs.StringVar(&c.text, "train", "", "`file` of a text, on which a model is trained from random weights")
	fs.BoolVar(&c.resumes, "resume", false, "with -train: continue from the file of an interrupted run with the same flags and text,\nto the weights that it would have had")
	fs.IntVar(&c.schedule.Steps, "steps", 1000, "with -train: number of steps")
	fs.IntVar(&c.schedule.Batch, "batch", 8, "with -train: pieces of the text in a step")
	fs.IntVar(&c.schedule.Length, "length", 128, "with -train: bytes of a piece")
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	var err error
	switch {
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q; -text takes the text, in quotes", fs.Arg(0))
	case c.prompt == "":
		err = errors.New("-text is empty, want at least one byte")
	case !(c.temperature >= 0):
		err = fmt.Errorf("-temp is %v, want 0 or more", c.temperature)
	case c.n < 0:
		err = fmt.Errorf("-max is %d, want 0 or more", c.n)
	case c.text != "" && c.heatmap != "":
		err = errors.New("-heatmap does not go with -train, which reads no prompt")
	case c.heatmap != "" && len(c.prompt) > maxDrawn:
		err = fmt.Errorf("-heatmap: -text has %d bytes, want at most %d, whose labels can be read", len(c.prompt), maxDrawn)
	default:
		err = c.checkTraining()
	}
	if err != nil {
		return nil, command.Usage(err)
	}
	c.settings = gobytes.Settings{Tier: exec.Tier, Threads: exec.Threads}
	return c, command.CheckExec(exec)
}

// run runs the command. It writes the text to out, and everything else to report.
func run(ctx context.Context, args []string, out, report io.Writer) error {
	c, err := parse(args, report)
	if err != nil {
		return err
	}
	if c.text != "" {
		return c.train(ctx, out, report)
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	next, how := func(logits []float32) (byte, error) { return gobytes.Greedy(logits), nil }, "each time the most probable one"
	if c.temperature != 0 {
		s, err := gobytes.NewSampler(float32(c.temperature), c.seed)
		if err != nil {
			return command.Usage(err)
		}
		next, how = s.Next, fmt.Sprintf("drawn at temperature %v with seed %d", c.temperature, c.seed)
	}
	fmt.Fprintf(report, "%s appends up to %d bytes to the prompt, %s:\n\n", cmp.Or(c.file, "gobytes"), c.n, how)
	return c.generate(ctx, m, next, out, report)
}

// model loads the model.
func (c *config) model() (*gobytes.Model, error) {
	if c.file == "" {
		return gobytes.Default()
	}
	f, err := os.Open(c.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m, err := gobytes.Load(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.file, err)
	}
	return m, nil
}

// generate lets the model read the prompt, and writes the prompt and each byte that the
// model appends.
func (c *config) generate(ctx context.Context, m *gobytes.Model, next func([]float32) (byte, error), out, report io.Writer) error {
	if len(c.prompt) > m.Context {
		return fmt.Errorf("the prompt has %d bytes, but the model's context has room for %d", len(c.prompt), m.Context)
	}
	b, err := m.NewBatch(1, c.settings)
	if err != nil {
		return err
	}
	draw := func() error { return nil }
	if c.heatmap != "" {
		if draw, err = c.observe(b); err != nil {
			return err
		}
	}
	start := time.Now()
	logits, err := b.Forward([][]byte{[]byte(c.prompt)})
	if err != nil {
		return err
	}
	prefill := time.Since(start)
	b.Observe = nil
	if err := draw(); err != nil {
		return err
	}
	start = time.Now()
	n, text := 0, []byte(c.prompt)
	for ; ; n++ {
		if _, err := out.Write(text); err != nil {
			return err
		}
		if n == c.n || b.Len(0) == m.Context || ctx.Err() != nil {
			break
		}
		token, err := next(logits[0][len(logits[0])-m.Vocab:])
		if err != nil {
			return err
		}
		text = []byte{token}
		if logits, err = b.Forward([][]byte{text}); err != nil {
			return err
		}
	}
	fmt.Fprintf(report, "\n\nread the prompt: %d tokens (bytes), %.0f tokens/s\nappended: %d tokens, %.0f tokens/s\n",
		len(c.prompt), float64(len(c.prompt))/prefill.Seconds(), n, float64(n)/time.Since(start).Seconds())
	if n < c.n && ctx.Err() == nil {
		fmt.Fprintf(report, "stopped before %d bytes: the model's context of %d tokens is full\n", c.n, m.Context)
	}
	_, err = fmt.Fprintln(out)
	return err
}
