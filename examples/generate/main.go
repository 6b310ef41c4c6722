// Command generate continues a text with a small language model that was trained
// on Go's standard library, on attn alone. The text is the same on every CPU, with
// any number of threads.
//
//	go run ./examples/generate -prompt 'func '
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/attn-go/attn/examples/gobytes"
	"github.com/attn-go/attn/examples/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	program.Exit("generate", run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// config is what the command line asks for.
type config struct {
	prompt      string
	file        string
	n           int
	temperature float64
	seed        uint64
	settings    gobytes.Settings
}

func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("generate", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.prompt, "prompt", "func ", "text to continue")
	fs.StringVar(&c.file, "model", "", "safetensors `file` of a model of the same kind, instead of the one that comes with it")
	fs.IntVar(&c.n, "n", 240, "bytes to append; less if the model's context ends before")
	fs.Float64Var(&c.temperature, "temperature", 0, "0 takes the likeliest byte each time; 1 draws as the model predicts,\nless sticks to what is likely")
	fs.Uint64Var(&c.seed, "seed", 1, "what to draw with; the same seed gives the same text on every CPU")
	fs.StringVar(&c.settings.Tier, "tier", "", "implementation, like generic or avx2 (default the best here)")
	fs.IntVar(&c.settings.Threads, "threads", 1, "threads; 0 means all")
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(help)
		fs.Usage()
		return nil, err
	}
	switch {
	case err != nil:
		return nil, program.Usage(err)
	case fs.NArg() > 0:
		return nil, program.Usage(fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	case c.prompt == "":
		return nil, program.Usage(errors.New("-prompt: want at least one byte"))
	case c.n < 0 || c.settings.Threads < 0:
		return nil, program.Usage(errors.New("-n and -threads: want 0 or more"))
	}
	return c, nil
}

// run is the command: the text goes to out, what is measured to report.
func run(ctx context.Context, args []string, out, report io.Writer) error {
	c, err := parse(args, report)
	if err != nil {
		return err
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

// chooser returns the function that chooses the next byte.
func (c *config) chooser() (func(logits []float32) (byte, error), error) {
	if c.temperature == 0 {
		return func(logits []float32) (byte, error) { return gobytes.Greedy(logits), nil }, nil
	}
	s, err := gobytes.NewSampler(float32(c.temperature), c.seed)
	if err != nil {
		return nil, program.Usage(err)
	}
	return s.Next, nil
}

// generate reads the prompt and writes it and what follows, byte by byte.
func generate(ctx context.Context, c *config, m *gobytes.Model, next func([]float32) (byte, error), out, report io.Writer) error {
	w := bufio.NewWriter(out)
	defer w.Flush()
	b, err := m.NewBatch(1, c.settings)
	if err != nil {
		return err
	}
	start := time.Now()
	logits, err := b.Forward([][]byte{[]byte(c.prompt)})
	if err != nil {
		return err
	}
	prefill := time.Since(start)
	w.WriteString(c.prompt)
	start = time.Now()
	n, token := 0, [][]byte{{0}}
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
	fmt.Fprintf(report, "\nprompt: %d tokens, %.0f tokens/s; text: %d tokens, %.0f tokens/s\n",
		len(c.prompt), float64(len(c.prompt))/prefill.Seconds(), n, float64(n)/decode.Seconds())
	return nil
}
