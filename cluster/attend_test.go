package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/gobytes"
)

// attend is a subcommand of tests alone: a client in a process of its own. It puts keys and values
// on the workers that run, computes steps of decoding over them, and compares every result with
// this process's alone. With -name the sequences are in the directory, as NAME-0, NAME-1 and so on;
// they stay there, and the same command goes on where the last one ended, or was killed.
var attend = subcommand{"attend", "decode over keys and values that workers hold", runAttend}

// attendConfig is a command line of attend.
type attendConfig struct {
	server    hub.Config
	config    shard.Config
	keys      int
	sequences int
	workers   int
	tokens    int
	check     bool
	name      string
	streams   streams
}

// runAttend runs the client.
func runAttend(ctx context.Context, s streams, args []string) error {
	c := &attendConfig{streams: s, config: modelConfig}
	if err := c.parse(args); err != nil {
		return err
	}
	c.server.Name, c.server.Log = "attn client", s.log()
	return withServer(ctx, c.server, false, c.run)
}

// run decodes with the workers of a server.
func (c *attendConfig) run(ctx context.Context, conn *hub.Conn) error {
	client, err := newClient(ctx, conn, c.config, c.workers)
	if err != nil {
		return err
	}
	for _, err := range client.Refused() {
		fmt.Fprintln(c.streams.report, "cluster:", err)
	}
	return c.decode(ctx, client)
}

// newClient returns a client that has found so many workers, which are there: on a busy machine one
// search may miss some.
func newClient(ctx context.Context, conn *hub.Conn, c shard.Config, workers int) (*shard.Client, error) {
	var last error
	for range attempts {
		client, err := shard.New(ctx, conn, c)
		switch {
		case err != nil && !errors.Is(err, shard.ErrNoWorkers):
			return nil, err
		case err == nil && len(client.Workers())+len(client.Refused()) >= workers:
			return client, nil
		case err == nil:
			err = fmt.Errorf("found workers %q, and refused %d, want %d", client.Workers(), len(client.Refused()), workers)
		}
		last = err
	}
	return nil, last
}

// attemptsTime is how long tests ask again for what there is.
const attemptsTime = 10 * time.Minute

// attempts yields again and again, with pauses, until attemptsTime has passed.
func attempts(yield func() bool) {
	for end := time.Now().Add(attemptsTime); yield() && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
}

// What never succeeds ends, and what succeeds ends at once.
func TestAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		for range attempts {
			break
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("a success took %v", took)
		}
		n := 0
		for range attempts {
			n++
		}
		if took := time.Since(begin); took != attemptsTime || n < 1000 {
			t.Errorf("%d attempts took %v", n, took)
		}
	})
}

// parse parses the command line.
func (c *attendConfig) parse(args []string) error {
	fs := newFlags("attend", "")
	c.server.Flags(fs)
	fs.IntVar(&c.keys, "keys", 16384, "keys of a sequence, 1 to 16777216")
	fs.IntVar(&c.workers, "workers", 1, "how many workers to find before it begins")
	fs.IntVar(&c.sequences, "sequences", 1, "sequences that are decoded side by side, 1 to 1024")
	fs.IntVar(&c.tokens, "tokens", 16, "steps of decoding, 1 to 1048576")
	fs.IntVar(&c.config.Replicas, "replicas", 2, "workers that hold a block, 1 or more")
	fs.DurationVar(&c.config.Patience, "patience", 500*time.Millisecond, "how long a worker may take before another one is asked too")
	fs.DurationVar(&c.config.Timeout, "timeout", 10*time.Minute, "how long a call waits for the last worker that could answer")
	fs.BoolVar(&c.check, "check", true, "compare results with attention in this process")
	fs.StringVar(&c.name, "name", "", "`name` of the sequences in the directory (default none: they end with the command)")
	kind := fs.String("type", "f32", "elements of keys and values: f32, f16, bf16 or int8")
	if err := command.Parse(fs, args, c.streams.out); err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	t, ok := elementTypes[*kind]
	c.config.Type = t
	switch {
	case !ok:
		return command.Usage(fmt.Errorf("-type is %q, want f32, f16, bf16 or int8", *kind))
	case c.keys < 1 || c.keys > 1<<24 || c.sequences < 1 || c.sequences > 1024 || c.tokens < 1 || c.tokens > 1<<20:
		return command.Usage(fmt.Errorf("-keys %d, -sequences %d and -tokens %d, want 1 to %d, %d and %d", c.keys, c.sequences, c.tokens, 1<<24, 1024, 1<<20))
	case c.name != "" && (!hub.IsToken(c.name) || len(c.name) > 32):
		return command.Usage(fmt.Errorf("-name is %q, want 1 to 32 letters, digits, - and _", c.name))
	case c.config.Replicas < 1 || c.config.Replicas > 255 || c.config.Patience <= 0 || c.config.Timeout <= 0:
		return command.Usage(fmt.Errorf("-replicas %d, -patience %v and -timeout %v, want more than 0, and at most 255 replicas", c.config.Replicas, c.config.Patience, c.config.Timeout))
	}
	return nil
}

// elementTypes are the values of -type.
var elementTypes = map[string]kernel.DType{"f32": kernel.Float32, "f16": kernel.Float16, "bf16": kernel.BFloat16, "int8": kernel.Int8}

// open returns the sequences: new ones, or the directory's.
func (c *attendConfig) open(ctx context.Context, client *shard.Client) ([]*shard.Sequence, error) {
	sequences := make([]*shard.Sequence, c.sequences)
	for i := range sequences {
		if c.name == "" {
			sequences[i] = client.NewSequence()
			continue
		}
		name := fmt.Sprintf("%s-%d", c.name, i)
		s, err := client.Open(ctx, name)
		if errors.Is(err, shard.ErrNotFound) {
			s, err = client.Create(ctx, name)
		}
		if err != nil {
			return nil, err
		}
		sequences[i] = s
	}
	return sequences, nil
}

// decode places the keys and decodes.
func (c *attendConfig) decode(ctx context.Context, client *shard.Client) error {
	m, err := gobytes.Default()
	if err != nil {
		return err
	}
	sequences, err := c.open(ctx, client)
	if err != nil {
		return err
	}
	longest, lengths := 0, make([]int, c.sequences)
	for i, s := range sequences {
		if s.Len() > 0 {
			fmt.Fprintf(c.streams.out, "Sequence %s has %d keys already.\n", s.Name(), s.Len())
		}
		lengths[i] = max(c.keys, s.Len())
		longest = max(longest, lengths[i])
	}
	a, err := readSample(m, source, longest+c.tokens)
	if err != nil {
		return err
	}
	started := time.Now()
	x, err := fillTexts(ctx, client, a, c.config.Type, sequences, lengths)
	if err != nil {
		return err
	}
	defer x.free(ctx)
	fmt.Fprintf(c.streams.out, "%d sequences of %d keys in %s are on workers %v, after %v.\n",
		c.sequences, longest, c.config.Type, client.Workers(), time.Since(started).Round(time.Millisecond))
	x.checks = c.check
	stats, err := x.decode(ctx, c.tokens)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.streams.out, "%d steps of decoding are done", c.tokens)
	if c.check {
		fmt.Fprint(c.streams.out, "; they have the bits that one machine gives")
	}
	fmt.Fprintln(c.streams.out, ".")
	perToken(c.streams.out, stats, c.tokens*c.sequences)
	return nil
}
