// Command generate continues a text with gobytes, a small language model that was trained
// on the sources of Go's standard library, computed by package kernel alone. The text is
// the same on every CPU and with any number of threads.
//
//	go run ./bench/examples/generate -text 'func '
//
// With -train it trains such a model on a text, and prints a hash of the weights, which is the same on
// every machine.
//
//	go run ./bench/examples/generate -train FILE
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/attn-go/attn/bench/examples/internal/train"
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

	text     string // the file of a text to train on; "" generates
	resumes  bool
	schedule schedule // but for the seed
}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("generate", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "usage: generate [flags]\n       generate -train FILE [flags]\n\n"+
			"Continues a prompt, byte by byte, with gobytes, a small language model trained on Go's standard\n"+
			"library. The text goes to standard output, the speed to standard error. With -train it trains such\n"+
			"a model on a text and prints a hash of the weights, which is the same on every machine.\n\n")
		fs.PrintDefaults()
	}
	fs.StringVar(&c.prompt, "text", "func ", "the `text` to continue")
	fs.StringVar(&c.file, "model", "", "safetensors `file` of another model of the same architecture; with -train the file that is\nwritten every "+strconv.Itoa(train.CheckpointSteps)+" steps and at the end (default "+defaultModel()+")")
	fs.IntVar(&c.n, "max", 240, "most bytes to append; fewer if the model's context is full before")
	fs.Float64Var(&c.temperature, "temp", 0.7, "bytes are drawn at random: by the probabilities of the model at 1, more often the\n"+
		"probable ones below; 0 always takes the most probable byte, which often repeats itself")
	fs.Uint64Var(&c.seed, "seed", 1, "seed of the random draws; the same seed gives the same text, or with -train the same weights,\non every CPU")
	exec := kernel.Exec{Threads: 1}
	command.ExecFlags(fs, &exec)
	fs.StringVar(&c.text, "train", "", "`file` of a text, on which a model is trained from random weights")
	fs.BoolVar(&c.resumes, "resume", false, "with -train: continue from the file of an interrupted run with the same flags and text,\nto the weights that it would have had")
	fs.IntVar(&c.schedule.Steps, "steps", 1000, "with -train: number of steps")
	fs.IntVar(&c.schedule.Batch, "batch", 8, "with -train: pieces of the text in a step")
	fs.IntVar(&c.schedule.Length, "length", 128, "with -train: bytes of a piece")
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, command.Usage(fmt.Errorf("unexpected argument %q; -text takes the text, in quotes", fs.Arg(0)))
	case c.prompt == "":
		return nil, command.Usage(errors.New("-text is empty, want at least one byte"))
	case !(c.temperature >= 0):
		return nil, command.Usage(fmt.Errorf("-temp is %v, want 0 or more", c.temperature))
	case c.n < 0:
		return nil, command.Usage(fmt.Errorf("-max is %d, want 0 or more", c.n))
	}
	if err := command.CheckExec(exec); err != nil {
		return nil, err
	}
	c.settings.Tier, c.settings.Threads = exec.Tier, exec.Threads
	return c, c.checkTraining()
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
	next, err := c.chooser()
	if err != nil {
		return err
	}
	return generate(ctx, c, m, next, out, report)
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

// chooser returns the function that chooses the next byte, given its logits.
func (c *config) chooser() (func(logits []float32) (byte, error), error) {
	if c.temperature == 0 {
		return func(logits []float32) (byte, error) { return gobytes.Greedy(logits), nil }, nil
	}
	s, err := gobytes.NewSampler(float32(c.temperature), c.seed)
	if err != nil {
		return nil, command.Usage(err)
	}
	return s.Next, nil
}

// describe says in a sentence what the command is about to do.
func (c *config) describe() string {
	name, how := "gobytes", "each time the most probable one"
	if c.file != "" {
		name = c.file
	}
	if c.temperature != 0 {
		how = fmt.Sprintf("drawn at temperature %v with seed %d", c.temperature, c.seed)
	}
	return fmt.Sprintf("%s appends up to %d bytes to the prompt, %s:", name, c.n, how)
}

// generate lets the model read the prompt, and writes the prompt and each byte that the
// model appends.
func generate(ctx context.Context, c *config, m *gobytes.Model, next func([]float32) (byte, error), out, report io.Writer) error {
	w := bufio.NewWriter(out)
	defer w.Flush()
	b, err := m.NewBatch(1, c.settings)
	if err != nil {
		return err
	}
	if len(c.prompt) > m.Context {
		return fmt.Errorf("the prompt has %d bytes, but the model's context has room for %d", len(c.prompt), m.Context)
	}
	fmt.Fprintf(report, "%s\n\n", c.describe())
	start := time.Now()
	logits, err := b.Forward([][]byte{[]byte(c.prompt)})
	if err != nil {
		return err
	}
	prefill := time.Since(start)
	w.WriteString(c.prompt)
	start = time.Now()
	n, token := 0, [][]byte{{0}} // token[0][0] is the next byte
	for ; n < c.n && b.Len(0) < m.Context && ctx.Err() == nil; n++ {
		if token[0][0], err = next(logits[0][len(logits[0])-m.Vocab:]); err != nil {
			return err
		}
		w.WriteByte(token[0][0])
		if err := w.Flush(); err != nil {
			return err
		}
		if logits, err = b.Forward(token); err != nil {
			return err
		}
	}
	decode := time.Since(start)
	fmt.Fprintf(w, "\n")
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(report, "\nread the prompt: %d tokens (bytes), %.0f tokens/s\nappended: %d tokens, %.0f tokens/s\n",
		len(c.prompt), float64(len(c.prompt))/prefill.Seconds(), n, float64(n)/decode.Seconds())
	if n < c.n && ctx.Err() == nil {
		fmt.Fprintf(report, "stopped before %d bytes: the model's context of %d tokens is full\n", c.n, m.Context)
	}
	return nil
}
