//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/attn-go/attn/cluster/access"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/server"
	"github.com/attn-go/attn/models/weights"
)

// writers is how many sequences of the directory there are, each with a client that appends and
// reads.
const writers = 2

// begin starts the clients.
func (c *chaos) begin() *sync.WaitGroup {
	c.t.Helper()
	var work sync.WaitGroup
	loop := func(kind string, do func() error) {
		work.Go(func() {
			for c.ctx.Err() == nil {
				err := do()
				c.mu.Lock()
				switch {
				case err == nil:
					c.done[kind]++
				case errors.Is(err, errWrong):
					c.t.Errorf("%s: %v", kind, err)
				case c.ctx.Err() == nil:
					if c.errors[kind]++; c.errors[kind] < 5 {
						c.t.Logf("%s: %v", kind, err)
					}
				}
				c.mu.Unlock()
				if err != nil {
					time.Sleep(smallPause)
				}
			}
		})
	}
	for n := range writers {
		w := c.newWriter(fmt.Sprint("text-", n))
		loop("append", w.step)
	}
	loop("embed", c.embeds())
	loop("stream", c.streams())
	return &work
}

// errWrong is the error of other bits than one machine's.
var errWrong = errors.New("WRONG BITS")

func (c *chaos) config(user string) hub.Config {
	return hub.Config{URL: c.urls, NKeySeedFile: access.SeedFile(c.dir, user), Wait: time.Minute}
}

// shardConfig is how clients of the sequences are configured.
func shardConfig() shard.Config {
	config := modelConfig
	config.Replicas, config.Patience, config.Timeout = 2, 200*time.Millisecond, 20*time.Second // a slow machine is no reason to go on with one copy
	return config
}

// open returns a sequence with what it should be.
func (c *chaos) open(conn *hub.Conn, name string, create bool) (*texts, error) {
	a, err := activations()
	if err != nil {
		return nil, err
	}
	client, err := shard.New(c.ctx, conn, shardConfig())
	if err != nil {
		return nil, err
	}
	s, err := client.Open(c.ctx, name)
	if create && errors.Is(err, shard.ErrNotFound) {
		s, err = client.Create(c.ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return fillTexts(c.ctx, client, a, modelConfig.Type, []*shard.Sequence{s}, []int{s.Len()})
}

// A writer is a client that appends to a sequence of the directory and reads it.
type writer struct {
	c    *chaos
	name string
	conn *hub.Conn
	x    *texts // nil after an error
	last error
}

func (c *chaos) newWriter(name string) *writer {
	w := &writer{c: c, name: name, conn: c.connect("writer")}
	c.t.Cleanup(w.conn.Close)
	return w
}

// Lengths of sequences: a writer begins with some keys, and frees the sequence when it is long.
const (
	firstKeys = 1500
	mostKeys  = 5000
)

// step appends some keys, and compares what attention over all of them gives. After an error, a
// later one opens the sequence again.
func (w *writer) step() (err error) {
	c := w.c
	c.mu.Lock()
	reset := c.reset[w.name]
	c.mu.Unlock()
	if reset || w.x != nil && w.x.sequences[0].Len() > mostKeys {
		if err := shard.Free(c.ctx, w.conn, w.name); err != nil && !errors.Is(err, shard.ErrNotFound) {
			return err
		}
		w.x = nil
		c.mu.Lock()
		delete(c.reset, w.name)
		c.mu.Unlock()
	}
	if w.x == nil {
		if w.x, err = c.open(w.conn, w.name, true); err != nil {
			return err
		}
	}
	s := w.x.sequences[0]
	if n := s.Len(); n < firstKeys {
		err = w.x.append(c.ctx, s, n, firstKeys)
	} else if err = w.x.append(c.ctx, s, n, n+10); err == nil {
		_, err = w.x.decode(c.ctx, 1)
	}
	if w.last == nil && errors.As(err, new(*shard.ConflictError)) && !isLost(err) {
		c.t.Errorf("%s has one writer, and %v", w.name, err)
	}
	if w.last = err; err != nil {
		w.x = nil
	}
	return wrong(err)
}

// wrong marks an error about other bits.
func wrong(err error) error {
	if err != nil && strings.Contains(err.Error(), "the bits differ") {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	return err
}

// read compares the bits of attention over all keys of a sequence. A sequence that is not there, or
// has no keys, is no error.
func (c *chaos) read(name string) error {
	c.t.Helper()
	conn := c.connect("reader")
	defer conn.Close()
	x, err := c.open(conn, name, false)
	if errors.Is(err, shard.ErrNotFound) || err == nil && x.sequences[0].Len() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	const queries = queryHeads * headSize
	s, out := x.sequences[0], make([]float32, queries)
	q := x.from.Q[(s.Len()-1)*queries:][:queries]
	if _, err := x.client.Attention(c.ctx, heads(out, 1), heads(q, 1), x.sequences, &shard.Options{Scoring: kernel.Scoring{Mask: kernel.Causal(0)}}); err != nil {
		return err
	}
	if err := x.check(0, q, out); err != nil {
		c.t.Errorf("%v", wrong(err))
	}
	return nil
}

// embeds returns a function that embeds a corpus. After an error the same command goes on where it
// was.
func (c *chaos) embeds() func() error {
	var lines []string
	for i := range 600 {
		lines = append(lines, strings.Repeat("a b ", i%4)+strings.Repeat("c", 1+i%5))
	}
	name := filepath.Join(c.t.TempDir(), "v.jsonl")
	c.journal = name + ".journal"
	return func() error {
		client := exec.CommandContext(c.ctx, os.Args[0], c.as("gateway", "embed", "-job-texts", "2", "-retry", "2s", "-o", name)...)
		client.Env, client.Stdin = append(os.Environ(), "CLUSTER_PROCESS=1", "GOMAXPROCS=1"), strings.NewReader(strings.Join(lines, "\n")+"\n")
		var report bytes.Buffer
		client.Stderr = &report
		if err := client.Start(); err != nil {
			return err
		}
		c.mu.Lock()
		c.client = client.Process
		c.mu.Unlock()
		err := client.Wait()
		c.mu.Lock()
		c.client = nil
		c.mu.Unlock()
		if err != nil && strings.Contains(report.String(), "is no journal, or one of another version") {
			if !c.flipped.Swap(false) {
				c.t.Errorf("a journal is refused that is as it was written: %s", report.Bytes())
			}
			return errors.Join(err, os.Remove(c.journal)) // as its user is told: the bit lay in the first line
		}
		if err != nil {
			return fmt.Errorf("%w: %s", err, report.Bytes())
		}
		if err := compareVectors(context.WithoutCancel(c.ctx), name, c.encoder(), lines); err != nil {
			return fmt.Errorf("%w: %w", errWrong, err)
		}
		return os.Remove(name)
	}
}

// streams returns a function that has a stream of the gateway, whose bytes equal one server's, as
// far as they come.
func (c *chaos) streams() func() error {
	const name = "SmolLM2-135M-Instruct"
	model, err := server.Load(filepath.Join(c.models, weights.SmolLM2), server.LoadOptions{Name: name})
	if err != nil {
		c.t.Fatal(err)
	}
	single, err := server.New(server.Settings{Logger: slog.New(slog.DiscardHandler)}, model)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { single.Close(context.Background()) })
	body := `{"model": "` + name + `", "prompt": "a b", "stream": true, "n": 8, "max_tokens": 200, "temperature": 3, "top_k": 0, "top_p": 1}`
	whole := httptest.NewRecorder()
	single.ServeHTTP(whole, httptest.NewRequest("POST", "/v1/completions", strings.NewReader(body)))
	want := idAndCreated.ReplaceAll(whole.Body.Bytes(), nil)
	return func() error {
		r, err := http.NewRequestWithContext(c.ctx, "POST", c.gateway+"/v1/completions", strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer secret-of-a-test")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode >= 500 {
			return errors.New(response.Status)
		}
		data, err := io.ReadAll(response.Body)
		got := idAndCreated.ReplaceAll(data, nil)
		events := bytes.SplitAfter(got, []byte("\n\n"))
		for i, event := range bytes.SplitAfter(want, []byte("\n\n")) {
			switch {
			case i < len(events)-1 && bytes.Equal(events[i], event), i == len(events)-1 && bytes.HasPrefix(event, events[i]):
			case i < len(events) && response.StatusCode == http.StatusOK && bytes.Contains(events[i], []byte(`"error"`)):
				return errors.New(string(events[i]))
			case i < len(events):
				return fmt.Errorf("%w: status %d, event %d is %.300q, want %.300q", errWrong, response.StatusCode, i, events[i], event)
			}
		}
		if err == nil && len(got) != len(want) {
			return fmt.Errorf("%d bytes of %d", len(got), len(want))
		}
		return err
	}
}
