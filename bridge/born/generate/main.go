// Command generate continues a text with gobytes, attn's small language model, computed by Born:
// alone, with attn's attention, and with attn's attention and linear layers. It prints the text and
// the speed of all three, which take turns.
//
//	go run ./bridge/born/generate -text 'func (b *Buffer) Write(p []byte) '
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/attn-go/attn/bridge/born"
	"github.com/attn-go/attn/bridge/born/internal/bytemodel"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/born-ml/born/backend/cpu"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/tensor"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("generate", run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// A way is a way to compute the model.
type way struct {
	name  string
	empty func() text
}

// A text is one that the model has read.
type text interface {
	Read([]byte) ([]float32, error)
}

// settings come from the command line.
type settings struct {
	prompt, model    string
	n, runs, threads int
}

// run runs the command: the text and the table go to out.
func run(ctx context.Context, args []string, out, help io.Writer) error {
	var s settings
	fs := flag.NewFlagSet("generate", flag.ContinueOnError)
	fs.StringVar(&s.prompt, "text", "func (b *Buffer) Write(p []byte) ", "the `text` to continue")
	fs.StringVar(&s.model, "model", "models/gobytes/data/gobytes.safetensors", "the model's `file`")
	fs.IntVar(&s.n, "max", 60, "bytes to append")
	fs.IntVar(&s.runs, "runs", 3, "how often each way computes the text; the table has the medians")
	fs.IntVar(&s.threads, "threads", 1, "most threads that attn uses; 0 means all (Born uses one)")
	if err := command.Parse(fs, args, help); err != nil {
		return err
	}
	switch {
	case fs.NArg() > 0:
		return command.Usage(fmt.Errorf("unexpected argument %q; -text takes the text, in quotes", fs.Arg(0)))
	case s.prompt == "" || s.n < 1 || s.runs < 1 || s.threads < 0:
		return command.Usage(errors.New("-text must not be empty, -max and -runs must be at least 1, and -threads at least 0"))
	}
	ways, err := load(s)
	if err != nil {
		return err
	}
	return compare(ctx, s, ways, out)
}

// load loads the model once for each way.
func load(s settings) ([]way, error) {
	exec := kernel.Exec{Threads: s.threads}
	host, backend := cpu.New(), born.NewBackend(exec)
	alone, err := bytemodel.Load(s.model, host)
	if err != nil {
		return nil, err
	}
	if len(s.prompt)+s.n > alone.Config.MaxSeqLen {
		return nil, fmt.Errorf("the prompt and what is appended are %d bytes, but the model's context has room for %d", len(s.prompt)+s.n, alone.Config.MaxSeqLen)
	}
	attention, err := bytemodel.Load(s.model, host, llama.WithAttentionFunc(born.Attention[*cpu.Backend](exec)))
	if err != nil {
		return nil, err
	}
	both, err := bytemodel.Load(s.model, backend, llama.WithAttentionFunc(born.Attention[*born.Backend](exec)))
	if err != nil {
		return nil, err
	}
	if err := backend.PackLlama(both); err != nil {
		return nil, err
	}
	return []way{
		{"Born alone", texts(alone, host)},
		{"with attn's attention", texts(attention, host)},
		{"with both", texts(both, backend)},
	}, nil
}

// texts returns a function that returns empty texts of a model.
func texts[B tensor.Backend](m *llama.Model[B], backend B) func() text {
	return func() text { return bytemodel.NewText(m, backend) }
}

// compare lets the ways take turns.
func compare(ctx context.Context, s settings, ways []way, out io.Writer) error {
	type times struct{ prompt, generate []float64 } // tokens per second
	var first string
	all := make([]times, len(ways))
	for range s.runs {
		for i, w := range ways {
			appended, prompt, generate, err := continueText(ctx, w.empty(), s)
			if err != nil {
				return err
			}
			if first == "" {
				first = appended
				fmt.Fprintf(out, "%s%s\n\n", s.prompt, first)
			}
			if appended != first {
				return fmt.Errorf("%s appends %q, but %s %q", w.name, appended, ways[0].name, first)
			}
			all[i].prompt = append(all[i].prompt, float64(len(s.prompt))/prompt.Seconds())
			all[i].generate = append(all[i].generate, float64(s.n)/generate.Seconds())
		}
	}
	fmt.Fprintf(out, "%-22s %12s %12s   tokens/s, all with the same text\n", "", "prompt", "generation")
	for i, w := range ways {
		fmt.Fprintf(out, "%-22s %12.0f %12.1f\n", w.name, median(all[i].prompt), median(all[i].generate))
	}
	return nil
}

// continueText appends the most probable bytes to the prompt and returns them, and how long
// it took to read the prompt and to append.
func continueText(ctx context.Context, t text, s settings) (appended string, prompt, generate time.Duration, err error) {
	start := time.Now()
	logits, err := t.Read([]byte(s.prompt))
	prompt = time.Since(start)
	start = time.Now()
	for err == nil && len(appended) < s.n {
		next := bytemodel.Greedy(logits)
		appended += string([]byte{next})
		logits, err = t.Read([]byte{next})
		if err == nil {
			err = ctx.Err()
		}
	}
	return appended, prompt, time.Since(start), err
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
