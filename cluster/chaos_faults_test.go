//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"

	"github.com/nats-io/nats.go/jetstream"
)

// killed is a fault: processes are killed and start again under their names.
func killed(name, of string, choose func(c *chaos) []string) *chaosFault {
	return &chaosFault{name, of, func(c *chaos) func() {
		names := choose(c)
		for _, n := range names {
			c.running[n].down = true
			c.running[n].kill()
		}
		return func() {
			for _, n := range names {
				c.again(n)
			}
		}
	}}
}

// stopped is a fault: a process stands still.
func stopped(name, of string, names ...string) *chaosFault {
	return &chaosFault{name, of, func(c *chaos) func() {
		p := c.running[c.one(names...)]
		p.signal(c.t, syscall.SIGSTOP)
		return func() { p.signal(c.t, syscall.SIGCONT) }
	}}
}

func oneOf(names ...string) func(c *chaos) []string {
	return func(c *chaos) []string { return []string{c.one(names...)} }
}

// chaosFaults are all faults.
var chaosFaults = []*chaosFault{
	{"kill -9 of a worker that starts at once", "shard", func(c *chaos) func() {
		name := c.one("a", "b", "c", "d")
		c.running[name].kill()
		c.again(name)
		return func() {}
	}},
	killed("kill -9 of a worker", "shard", oneOf("a", "b", "c", "d")),
	stopped("SIGSTOP of a worker", "shard", "a", "b", "c", "d"),
	{"a cut of the network", "shard", func(c *chaos) func() {
		c.far.Lock()
		return c.far.Unlock
	}},
	{"flipped bits of the network", "shard", func(c *chaos) func() {
		c.far.flips.Store(20)
		return func() { c.far.flips.Store(0) }
	}},
	{"kill -9 of two workers", "shard", func(c *chaos) func() {
		c.lossy = true
		for _, name := range []string{"a", "c"} {
			c.running[name].kill()
		}
		c.again("a")
		c.again("c")
		return func() {}
	}},
	killed("kill -9 of the server that leads the directory", "server", func(c *chaos) []string { return []string{c.leader()} }),
	killed("kill -9 of a server", "server", oneOf("n0", "n1", "n2")),
	stopped("SIGSTOP of a server", "server", "n0", "n1", "n2"),
	{"a full disk", "server", func(c *chaos) func() {
		if c.disk == "" {
			return func() {}
		}
		ballast := filepath.Join(c.disk, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 128<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			c.t.Errorf("the disk is not full: %v", err)
		}
		return func() {
			if err := os.Remove(ballast); err != nil {
				c.t.Error(err)
			}
		}
	}},
	killed("kill -9 of a worker of models", "answer", oneOf("answer0", "answer1")),
	stopped("SIGSTOP of a worker of models", "answer", "answer0", "answer1"),
	{"kill -9 of a client that embeds, and a flipped bit of its journal", "client", func(c *chaos) func() {
		c.wait("a client that embeds", func() bool {
			data, err := os.ReadFile(c.journal)
			if c.client == nil || err != nil || len(data) < 1<<12 {
				return false
			}
			c.client.Kill()
			at := c.random.IntN(len(data))
			if at <= bytes.IndexByte(data, '\n') {
				c.flipped.Store(true)
			}
			data[at] ^= 1 << c.random.IntN(8)
			if err := os.WriteFile(c.journal, data, 0o600); err != nil {
				c.t.Error(err)
			}
			return true
		})
		return func() {}
	}},
	killed("kill -9 of the gateway", "gateway", oneOf("gateway")),
}

// leader returns the server that leads the directory.
func (c *chaos) leader() (name string) {
	conn := c.connect("admin")
	defer conn.Close()
	js, err := jetstream.New(conn.Conn)
	for err == nil && c.running[name] == nil {
		var x jetstream.Stream
		if x, err = js.Stream(c.t.Context(), "KV_"+conn.StreamName("sequences")); err == nil && x.CachedInfo().Cluster != nil {
			name = x.CachedInfo().Cluster.Leader
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return name
}

// reportTime is how long it may take until status and the log of a worker say that blocks are lost,
// where status takes no more than a second.
const reportTime = 10 * time.Second

// forget has the sequences of which blocks are lost made anew, once status and a log have said so.
func (c *chaos) forget() {
	c.t.Helper()
	begin := time.Now()
	c.slowest = 0
	lost := map[string]int{}
	for _, s := range c.status().Sequences {
		if s.Held.Lost > 0 {
			lost[s.Name] = s.Held.Lost
		}
	}
	said := time.Since(begin)
	c.compare("kill -9 of two workers") // if status did not say so, reading does not agree with it
	for name, n := range lost {
		var logged time.Time
		c.wait("an alarm of "+name, func() bool { logged = c.alarm(name); return !logged.IsZero() || c.lost(name) <= 0 })
		if logged.IsZero() { // its writer has begun another one by itself
			continue
		}
		took := max(said, logged.Sub(begin))
		c.t.Logf("%s: %d blocks were lost; status and a log said so within %v", name, n, took.Round(time.Millisecond))
		if slow := max(1, c.slowest.Seconds()); took.Seconds() > reportTime.Seconds()*slow {
			c.t.Errorf("the loss of blocks of %s was said after %v, on a machine where status takes %v", name, took, c.slowest)
		}
		c.mu.Lock()
		c.reset[name] = true
		c.mu.Unlock()
		c.wait("another "+name, func() bool { return !c.reset[name] })
	}
}

// connect connects as a user.
func (c *chaos) connect(user string) *hub.Conn {
	c.t.Helper()
	conn, err := hub.Connect(c.t.Context(), c.config(user))
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// isLost tells whether an error is that blocks are lost.
func isLost(err error) bool { return errors.As(err, new(*shard.BlocksError)) }

// smallPause is how long a client waits after an error.
const smallPause = 50 * time.Millisecond
