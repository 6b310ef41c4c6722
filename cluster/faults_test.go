//go:build unix

package main

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/command"
)

// long marks a test that takes too long for -short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT RUN with -short")
	}
}

// faultRuns is how often each fault is tried; README.md says what comes of it.
func faultRuns() int {
	if testing.Short() {
		return 1
	}
	return 3
}

// during decodes while f runs on another goroutine, a moment after the start.
func during(t *testing.T, x *texts, steps int, f func()) shard.Stats {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(20 * time.Millisecond)
		f()
	}()
	stats := x.steps(t, steps)
	<-done
	return stats
}

// kill -9 of a worker in mid-run loses nothing, and one that takes its name is no danger.
func TestKillWorker(t *testing.T) {
	t.Parallel()
	for range faultRuns() {
		p := startProcesses(t, "a", "b", "c")
		x := p.texts(2, 3000, 700)
		during(t, x, 40, func() { p.workers["b"].kill() })
		p.work("b", p.url)
		x.steps(t, 5)
	}
}

// A worker that gets a fifth of the time is slow, and no more than that.
func TestSlowWorker(t *testing.T) {
	long(t)
	t.Parallel()
	p := startProcesses(t, "a", "b")
	x := p.texts(2, 3000, 700)
	during(t, x, 20*faultRuns(), func() {
		for range 5 * faultRuns() {
			p.workers["b"].signal(t, syscall.SIGSTOP)
			time.Sleep(80 * time.Millisecond)
			p.workers["b"].signal(t, syscall.SIGCONT)
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// kill -9 of the server, and a new one on the same port: the workers come back with their
// blocks. A call in between may fail, and then its output is untouched.
func TestKillServer(t *testing.T) {
	long(t)
	t.Parallel()
	for range faultRuns() {
		p := startProcesses(t, "a", "b")
		x := p.texts(2, 3000, 700)
		x.steps(t, 3)
		p.server.kill()
		u, err := url.Parse(p.url)
		if err != nil {
			t.Fatal(err)
		}
		p.serve(u.Port())
		for {
			_, err := x.decode(t.Context(), 1)
			if err == nil {
				break
			}
			var blocks *shard.BlocksError
			if !errors.As(err, &blocks) {
				t.Fatal(err)
			}
		}
		x.steps(t, 5)
	}
}

// Without a replica, what a dead worker held is gone: the error says so, and no row is wrong.
func TestKillAllHolders(t *testing.T) {
	t.Parallel()
	for range faultRuns() {
		p := startProcesses(t, "a", "b")
		x := p.texts(1, 3000)
		holder, _, _ := strings.Cut(x.sequences[0].Owners(0)[0], "-") // a worker that is late may hold nothing
		p.workers[holder].kill()
		_, err := x.decode(t.Context(), 1)
		var blocks *shard.BlocksError
		if !errors.As(err, &blocks) || len(blocks.Blocks) != 1 || blocks.Blocks[0].Sequence != x.sequences[0].Name() {
			t.Fatal(err)
		}
	}
}

// Every message arrives twice, and again a second time later: rows are stored once, and
// answers are used once.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, "a", "b", "c")
	conn, err := hub.Connect(t.Context(), hub.Config{URL: p.url, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const mark = "Repeated"
	var repeated atomic.Int64
	_, err = conn.Subscribe(conn.Subject("shard", ">"), func(m *nats.Msg) {
		if m.Header.Get(mark) != "" {
			return
		}
		m.Header.Set(mark, "1")
		repeated.Add(1)
		conn.PublishMsg(m)
		time.AfterFunc(100*time.Millisecond, func() { conn.PublishMsg(m) })
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	x := p.texts(2, 4500, 700)
	x.steps(t, 20*faultRuns())
	for _, s := range x.sequences {
		if err := s.Truncate(600); err != nil { // late copies of what is cut off come, too
			t.Fatal(err)
		}
	}
	x.steps(t, 20*faultRuns())
	if repeated.Load() == 0 {
		t.Error("no message was repeated")
	}
}

// attend works with workers in other processes, in every type of elements.
func TestAttend(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, "a", "b")
	for _, kind := range []string{"f32", "f16", "bf16", "int8"} {
		out, report, err := runCommand(t.Context(), "attend", "-server", p.url, "-keys", "1000", "-sequences", "2", "-tokens", "2", "-type", kind)
		if err != nil || !strings.Contains(out, "they have the bits that one machine gives") {
			t.Errorf("%s: %v\n%s%s", kind, err, out, report)
		}
	}
	for _, args := range [][]string{{"-type", "f8"}, {"-keys", "0"}, {"-replicas", "0"}, {"x"}} {
		if _, _, err := runCommand(t.Context(), append([]string{"attend"}, args...)...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A call ends with its context although a worker stands still, and not only with its own
// time limit.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, "a")
	x := p.texts(1, 700)
	p.workers["a"].signal(t, syscall.SIGSTOP)
	defer p.workers["a"].signal(t, syscall.SIGCONT)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	started := time.Now()
	if _, err := x.decode(ctx, 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(started) >= callTimeout {
		t.Errorf("%v after %v", err, time.Since(started))
	}
}
