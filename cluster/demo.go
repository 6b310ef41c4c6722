package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/gobytes"
)

const demoUsage = `usage: cluster demo [flags]

A trained model of Go sources writes a text while workers of attention hold its keys and values, and every bit is compared with
what this process computes alone. With -server they are those of that server. Otherwise a NATS server and three workers with
different tiers run in this process, one of which is cut off in between, and a new one comes; then three workers embed lines of this
command's sources, while one of them and the client are interrupted.

`

// source is a text for models: a file of this command.
//
//go:embed monitor.go
var source string

// demo is a cluster in one process.
type demo struct {
	out      io.Writer
	tokens   int
	hub      hub.Config // of the server
	programs []program
}

// A program is a subcommand that runs in this process.
type program struct {
	name string
	stop func() // ends it and waits for that
}

// runDemo runs the demonstration.
func runDemo(ctx context.Context, s streams, args []string) error {
	d := &demo{out: s.out}
	fs := newFlags("demo", demoUsage)
	d.hub.Flags(fs)
	fs.IntVar(&d.tokens, "tokens", 96, "tokens that the model writes, 1 to 256")
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	if d.tokens < 1 || d.tokens > 256 {
		return command.Usage(fmt.Errorf("-tokens %d, want 1 to 256", d.tokens))
	}
	defer d.end("")
	if d.hub.URL != "" {
		return d.write(ctx)
	}
	for _, part := range []func(context.Context) error{d.start, d.write, d.embed} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts the server and the workers.
func (d *demo) start(ctx context.Context) error {
	line, err := d.begin(ctx, "server", "listening on", "serve", "-port", "-1")
	if err != nil {
		return err
	}
	_, d.hub.URL, _ = strings.Cut(line, "listening on ")
	fmt.Fprintf(d.out, "A NATS server listens on %s.\n", d.hub.URL)
	for i, name := range []string{"anna", "bert", "carl"} {
		if err := d.work(ctx, name, demoTier(i)); err != nil {
			return err
		}
	}
	return nil
}

// demoTier returns the tier of worker i: one after the other of those that this CPU can run.
func demoTier(i int) string {
	tiers := kernel.Tiers()
	return tiers[i%len(tiers)].String()
}

// work starts a worker of attention, which copies nothing to others when it ends.
func (d *demo) work(ctx context.Context, name, tier string) error {
	_, err := d.begin(ctx, name, "waits for", "work", "-name", name, "-server", d.hub.URL, "-tier", tier, "-leave", "0")
	if err == nil {
		fmt.Fprintf(d.out, "Worker %s computes with tier %s.\n", name, tier)
	}
	return err
}

// begin runs a subcommand, and returns the line with which it says that it is ready.
func (d *demo) begin(ctx context.Context, name, ready string, args ...string) (line string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	said, report := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		report.CloseWithError(run(ctx, streams{strings.NewReader(""), io.Discard, report}, args))
	}()
	d.programs = append(d.programs, program{name, func() { cancel(); <-ended }})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			go io.Copy(io.Discard, said)
			return lines.Text(), nil
		}
	}
	return "", cmp.Or(lines.Err(), ctx.Err(), fmt.Errorf("cluster %s has ended", args[0]))
}

// end ends the program of a name, or all, the last one first.
func (d *demo) end(name string) {
	for _, p := range slices.Backward(d.programs) {
		if name == "" || p.name == name {
			p.stop()
		}
	}
}

// The form of the keys and values of the model.
const (
	kvHeads  = 2
	headSize = 32
)

const prompt = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// run runs the command with its arguments and returns "

// write lets the model write a text twice: alone, and with the workers. In the middle a worker of
// this process is replaced.
func (d *demo) write(ctx context.Context) error {
	m, err := gobytes.Default()
	if err != nil {
		return err
	}
	conn, err := connect(ctx, d.hub)
	if err != nil {
		return err
	}
	defer conn.Close()
	c, err := shard.New(ctx, conn, shard.Config{Heads: kvHeads, HeadSize: headSize})
	if err != nil {
		return err
	}
	alone, err := m.NewBatch(1, gobytes.Settings{})
	if err != nil {
		return err
	}
	together, err := m.NewBatch(1, gobytes.Settings{})
	if err != nil {
		return err
	}
	sequences := make([]*shard.Sequence, m.Layers)
	for i := range sequences {
		sequences[i] = c.NewSequence()
		defer sequences[i].Free(context.WithoutCancel(ctx)) // a worker that does not hear it forgets it by itself
	}
	var stats shard.Stats
	together.Attend = attendOn(ctx, c, sequences, &stats)
	fmt.Fprintf(d.out, "\nThe model writes %d tokens; %d workers hold its keys and values, each block twice if they can.\n\n%s|", d.tokens, len(c.Workers()), prompt)
	next := []byte(prompt)
	for i := range d.tokens {
		if len(d.programs) > 0 && i == d.tokens/2 {
			fmt.Fprint(d.out, "\n\n")
			if err := d.replace(ctx, c, sequences); err != nil {
				return err
			}
			fmt.Fprint(d.out, "\n...")
		}
		want, err := alone.Forward([][]byte{next})
		if err != nil {
			return err
		}
		got, err := together.Forward([][]byte{next})
		if err != nil {
			return err
		}
		if !sameBits(got[0], want[0]) {
			return fmt.Errorf("the logits of token %d differ from those of one machine", i)
		}
		next = []byte{gobytes.Greedy(got[0][len(got[0])-m.Vocab:])}
		fmt.Fprintf(d.out, "%s", next)
	}
	fmt.Fprintf(d.out, "|\n\nAll logits have the bits that one machine gives.\n")
	perToken(d.out, stats, d.tokens)
	return nil
}

// replace cuts off a worker, and has a new one hold what it held.
func (d *demo) replace(ctx context.Context, c *shard.Client, sequences []*shard.Sequence) error {
	d.end("bert")
	fmt.Fprintln(d.out, "Worker bert is cut off.")
	if err := d.work(ctx, "dora", demoTier(1)); err != nil {
		return err
	}
	n, err := c.Repair(ctx, sequences...)
	fmt.Fprintf(d.out, "Worker dora gets copies of %d blocks.\n", n)
	return err
}

// attendOn returns the attention of a model whose keys and values c's workers hold, a sequence
// for each layer. It adds what calls take to stats.
func attendOn(ctx context.Context, c *shard.Client, sequences []*shard.Sequence, stats *shard.Stats) func(layer int, out, q, k, v kernel.Tensor) error {
	return func(layer int, out, q, k, v kernel.Tensor) error {
		s := sequences[layer : layer+1]
		if err := c.Append(ctx, s, k, v); err != nil {
			return err
		}
		took, err := c.Attention(ctx, out, q, s, &shard.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}})
		stats.Add(took)
		return err
	}
}

// sameBits tells whether two slices hold the same bits.
func sameBits(x, y []float32) bool {
	return slices.EqualFunc(x, y, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) })
}

// perToken writes what n tokens took.
func perToken(w io.Writer, s shard.Stats, n int) {
	each := func(d time.Duration) time.Duration { return (d / time.Duration(n)).Round(time.Microsecond) }
	fmt.Fprintf(w, "  time per token %v; of it the arithmetic %v on the busiest worker, merging %v\n", each(s.Wall), each(s.Slowest), each(s.Merge))
	fmt.Fprintf(w, "  messages per token %.1f, bytes per token %d sent and %d received; %d of %d messages were for a worker that failed\n",
		float64(s.Requests)/float64(n), s.Sent/int64(n), s.Received/int64(n), s.Retries, s.Requests)
}
