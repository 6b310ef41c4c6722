package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

const demoUsage = `usage: cluster demo [flags]

Runs a NATS server, three workers with different tiers and a client in this process. A trained
model of Go sources writes a text while the workers hold its keys and values, and computes
attention over a long context; workers are cut off in between, and a new one comes. Then three
workers embed lines of this command's sources, while one of them and the client are interrupted.
Every bit is compared with what this process computes alone.
`

// sources are the text that the model reads.
//
//go:embed *.go
var sources embed.FS

// sourceText returns the sources of this command, test files aside.
func sourceText() (string, error) {
	entries, err := sources.ReadDir(".")
	if err != nil {
		return "", err
	}
	text := ""
	for _, e := range entries {
		if data, err := sources.ReadFile(e.Name()); err != nil {
			return "", err
		} else if len(e.Name()) < 8 || e.Name()[len(e.Name())-8:] != "_test.go" {
			text += string(data)
		}
	}
	return text, nil
}

// demo is a cluster in one process.
type demo struct {
	out     io.Writer
	server  *hub.Server
	conns   []*hub.Conn
	workers []*shard.Worker
	tokens  int
	keys    int
}

// runDemo runs the demonstration.
func runDemo(ctx context.Context, s streams, args []string) error {
	d := &demo{out: s.out}
	fs := newFlags("demo", demoUsage)
	fs.IntVar(&d.tokens, "tokens", 96, "tokens that the model writes, 1 to 256")
	fs.IntVar(&d.keys, "keys", 16384, "keys of the long context, 1024 to 1048576")
	if err := command.Parse(fs, args, s.out); err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	if d.tokens < 1 || d.tokens > 256 || d.keys < 1024 || d.keys > 1<<20 {
		return command.Usage(fmt.Errorf("-tokens %d and -keys %d, want 1 to 256 and 1024 to %d", d.tokens, d.keys, 1<<20))
	}
	defer d.close()
	if err := d.start(ctx); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{d.write, d.long, d.embed} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// start starts the server and the workers.
func (d *demo) start(ctx context.Context) error {
	var err error
	if d.server, err = hub.Serve(ctx, hub.ServerConfig{Port: -1}); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "A NATS server listens on %s.\n", d.server.URL())
	for i, name := range []string{"anna", "bert", "carl"} {
		if err := d.work(ctx, name, demoTier(i)); err != nil {
			return err
		}
	}
	return nil
}

// demoTier returns the tier of worker i: one after the other of those that this CPU can run.
func demoTier(i int) kernel.Tier {
	tiers := kernel.Tiers()
	return tiers[i%len(tiers)]
}

// work starts a worker with a connection of its own.
func (d *demo) work(ctx context.Context, name string, tier kernel.Tier) error {
	conn, err := d.connect(ctx, name)
	if err != nil {
		return err
	}
	w, err := shard.NewWorker(conn, shard.WorkerConfig{Name: name, Exec: kernel.Exec{Tier: tier}})
	if err != nil {
		return err
	}
	d.workers = append(d.workers, w)
	fmt.Fprintf(d.out, "Worker %s computes with tier %s.\n", name, tier)
	return nil
}

// connect returns a new connection to the server.
func (d *demo) connect(ctx context.Context, name string) (*hub.Conn, error) {
	c := d.server.Client()
	c.Name = name
	conn, err := connect(ctx, c)
	if err == nil {
		d.conns = append(d.conns, conn)
	}
	return conn, err
}

// cutOff cuts off a worker, as if its machine had lost power.
func (d *demo) cutOff(name string) {
	for _, c := range d.conns {
		if c.Opts.Name == name {
			c.Close()
		}
	}
	fmt.Fprintf(d.out, "Worker %s is cut off.\n", name)
}

func (d *demo) close() {
	for _, c := range d.conns {
		c.Close()
	}
	for _, w := range d.workers {
		w.Close()
	}
	if d.server != nil {
		d.server.Close()
	}
}

// client returns a client for keys and values of a form.
func (d *demo) client(ctx context.Context, c shard.Config) (*shard.Client, error) {
	conn, err := d.connect(ctx, "client")
	if err != nil {
		return nil, err
	}
	return shard.New(ctx, conn, c)
}

// perToken writes what n tokens took.
func perToken(w io.Writer, s shard.Stats, n int) {
	each := func(d time.Duration) time.Duration { return (d / time.Duration(n)).Round(time.Microsecond) }
	fmt.Fprintf(w, "  time per token %v; of it the arithmetic %v on the busiest worker, merging %v\n", each(s.Wall), each(s.Slowest), each(s.Merge))
	fmt.Fprintf(w, "  messages per token %.1f, bytes per token %d sent and %d received; %d of %d messages were for a worker that failed\n",
		float64(s.Requests)/float64(n), s.Sent/int64(n), s.Received/int64(n), s.Retries, s.Requests)
}
