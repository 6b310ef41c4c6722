//go:build unix

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/access"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/models/weights"
)

var (
	chaosTime = flag.Duration("chaos", 0, "how long TestChaos chooses faults at random after it has had each once")
	chaosSeed = flag.Uint64("chaos-seed", 1, "decides the faults of -chaos")
	chaosOnly = flag.String("chaos-only", "", "a text that faults have in their names, which TestChaos is to have alone")
)

// TestChaos has a cluster of processes, each with the arguments of an example in deploy, at work:
// clients append and read keys, embed texts, and have streams from a gateway, all of them compared
// with one machine. Meanwhile processes are killed and start again under their names, stand still,
// are cut off, and have a full disk. Whatever status says is compared with what can be read, and
// nothing is lost by one fault. How long anything takes is not for the test to say, but for how
// long a loss may be unknown.
func TestChaos(t *testing.T) {
	long(t)
	t.Parallel()
	c := newChaos(t)
	work := c.begin()
	work.Go(c.measure)
	c.settle("at first")
	for _, f := range chaosFaults {
		if strings.Contains(f.name, *chaosOnly) {
			c.disturb(f)
		}
	}
	random := rand.New(rand.NewPCG(*chaosSeed, 57))
	for end := time.Now().Add(*chaosTime); time.Now().Before(end); {
		some := []*chaosFault{chaosFaults[random.IntN(len(chaosFaults))]}
		if other := chaosFaults[random.IntN(len(chaosFaults))]; other.of != some[0].of {
			some = append(some, other)
		}
		c.random = random
		c.disturb(some...)
	}
	c.cancel()
	work.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Logf("%d faults; done: %v; errors, after which clients went on: %v; status was asked %d times, at most %d until all copies were there again",
		c.faults, c.done, c.errors, c.asked, c.most)
}

// chaos is a cluster that is disturbed.
type chaos struct {
	t       *testing.T
	ctx     context.Context
	cancel  context.CancelFunc
	dir     string // of keys
	models  string
	urls    string // of the servers
	gateway string // URL
	disk    string // of server n0, "" if it has none of its own
	far     network
	random  *rand.Rand
	running map[string]*chaosProcess
	lossy   bool         // the fault may have lost blocks
	delay   atomic.Int64 // for a CPU, the longest since the fault, in ns
	flipped atomic.Bool  // a bit of the first line of the journal was flipped

	mu      sync.Mutex
	client  *os.Process    // that embeds, nil for none
	journal string         // of it
	done    map[string]int // what clients did that ended well, by kind
	errors  map[string]int // what ended with an error
	reset   map[string]bool
	faults  int
	asked   int
	most    int
	slowest time.Duration // of status, since the last fault
}

// chaosProcess is a process that may be started again.
type chaosProcess struct {
	*process
	ready  string
	args   []string
	down   bool                 // by a fault, which starts it again
	tail   []string             // the last lines that have been read
	lost   map[string]time.Time // sequences of which it has said that blocks are lost, and when
	alarms []string             // all that it has said of lost blocks since the last fault
}

// newChaos starts the processes: three servers, four workers of attention of which one is behind a
// proxy, two workers of models, and a gateway.
func newChaos(t *testing.T) *chaos {
	t.Helper()
	d := newDeployment(t)
	c := &chaos{t: t, dir: d.keys, models: d.models, random: rand.New(rand.NewPCG(0, 0)), running: map[string]*chaosProcess{},
		done: map[string]int{}, errors: map[string]int{}, reset: map[string]bool{}}
	c.ctx, c.cancel = context.WithCancel(t.Context())
	t.Cleanup(c.cancel)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("between servers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := freePorts(7)
	var urls []string
	for i, example := range []string{"systemd", "compose", "kubernetes"} {
		store := t.TempDir()
		if i == 0 {
			if c.disk = smallDisk(t, 128<<20); c.disk != "" {
				store = c.disk
			}
		}
		args := exampleArguments(t, example, "serve", c.files("0.0.0.0:9222", "127.0.0.1:0", "9222", "0", "0.0.0.0", "127.0.0.1", "/var/lib/attn", store))
		args = append(args, "-port", ports[i], "-cluster", "attn", "-name", fmt.Sprint("n", i), "-cluster-port", ports[3+i], "-route-password-file", secret)
		for _, port := range ports[3:6] {
			args = append(args, "-route", "nats://127.0.0.1:"+port)
		}
		c.start(fmt.Sprint("n", i), "listening on", args...)
		urls = append(urls, "nats://127.0.0.1:"+ports[i])
	}
	c.urls, c.gateway = strings.Join(urls, ","), "http://127.0.0.1:"+ports[6]
	client := func(example, program, server string, more ...string) []string {
		return append(exampleArguments(t, example, program, c.files("tls://server:4222", server, "nats://server:4222", server,
			"0.0.0.0:9222", "127.0.0.1:0", "9223", "0", "0.0.0.0:8080", "127.0.0.1:"+ports[6])), more...)
	}
	for name, example := range map[string]string{"a": "systemd", "b": "compose", "c": "kubernetes"} {
		c.start(name, "waits for", client(example, "work", c.urls, "-name", name, "-repair", "2s")...)
	}
	c.start("d", "waits for", client("systemd", "work", testutil.Proxy(t, urls[1], c.far.pass), "-name", "d", "-repair", "2s")...)
	c.start("answer0", "answers with", client("compose", "answer", c.urls, "-name", "answer0")...)
	c.start("answer1", "answers with", client("kubernetes", "answer", c.urls, "-name", "answer1")...)
	c.start("gateway", "msg=listening", client("compose", "gateway", c.urls)...)
	return c
}

// files has arguments name the files of this test, and what changes has besides.
func (c *chaos) files(changes ...string) *strings.Replacer {
	for _, folder := range []string{"/etc/attn/users", "/etc/attn/worker", "/etc/attn", "/run/secrets"} {
		changes = append(changes, folder+"/", c.dir+"/")
	}
	return strings.NewReplacer(changes...)
}

// start starts a process under a name, and waits until it is ready. When the worker behind the
// proxy starts again, its server may be down until another fault is undone: status waits for it.
func (c *chaos) start(name, ready string, args ...string) {
	c.t.Helper()
	until := ready
	if name == "d" && c.running[name] != nil {
		until = ""
	}
	p, _ := startProcess(c.t, until, append([]string{modelsIn + c.models}, args...)...)
	c.running[name] = &chaosProcess{p, ready, args, false, nil, map[string]time.Time{}, nil}
}

// again starts a process that was killed.
func (c *chaos) again(name string) {
	c.t.Helper()
	c.start(name, c.running[name].ready, c.running[name].args...)
}

// as returns the arguments of a command that a user runs.
func (c *chaos) as(user, command string, args ...string) []string {
	return append([]string{command, "-server", c.urls, "-nkey", access.SeedFile(c.dir, user)}, args...)
}

// status asks until each worker of attention has answered, and everything else.
func (c *chaos) status() *status {
	c.t.Helper()
	for {
		begin := time.Now()
		out, _, err := runCommand(c.t.Context(), c.as("reader", "status", "-json")...)
		c.slowest = max(c.slowest, time.Since(begin))
		x := &status{}
		if err == nil {
			err = json.Unmarshal([]byte(out), x)
		}
		c.asked++
		names := map[string]bool{}
		for _, w := range x.Workers {
			if w.Error == "" {
				names[w.Name] = true
			}
		}
		if err == nil && names["a"] && names["b"] && names["c"] && names["d"] && len(names) == len(x.Workers) {
			return x
		}
		for name, p := range c.running {
			if p.ended() && !p.down { // systemd and Kubernetes do the same
				c.t.Logf("%s has ended, and starts again: %q", name, p.said())
				c.again(name)
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// settle waits until all copies are there again, and all clients have gone on. What status says has
// to be so.
func (c *chaos) settle(after string) {
	c.t.Helper()
	lost := 0
	for asked := 0; ; asked++ {
		x, whole := c.status(), true
		for _, s := range x.Sequences {
			if s.Held.Lost > 0 {
				if lost++; lost == mostDisagree { // until then it may be a sequence that changes
					c.t.Fatalf("after %s blocks are lost: %+v", after, x)
				}
			}
			whole = whole && s.Held.Lacking == 0 && s.Held.Lost == 0 && (s.Keys == 0 || s.Held.Least == s.Replicas)
		}
		c.compare(after)
		if whole && len(x.Sequences) == writers {
			c.most = max(c.most, asked)
			break
		}
	}
	c.wait("alarms that are taken back", func() bool { return c.alarms() == 0 }) // a worker that could not reach the others takes back what it has said
	c.mu.Lock()
	before := map[string]int{}
	for kind, n := range c.done {
		before[kind] = n
	}
	c.mu.Unlock()
	for _, kind := range []string{"append", "embed", "stream"} {
		c.wait(kind, func() bool { return c.done[kind] > before[kind] })
	}
	c.t.Logf("%s: status %d times; done %v, errors %v", after, c.asked, before, c.errorsNow())
}

// lostLine is what a worker of attention says of blocks that are lost.
var lostLine = regexp.MustCompile(`^time=(\S+) .*blocks that no worker holds" sequence=(\S+) lost=(\d+)`)

// read reads what the process has said since, and notes what it says of blocks that are lost.
func (p *chaosProcess) read() {
	lines := p.said()
	for _, line := range lines {
		m := lostLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[3] == "0" {
			delete(p.lost, m[2])
		} else if at, err := time.Parse(time.RFC3339Nano, m[1]); err == nil {
			p.lost[m[2]], p.alarms = at, append(p.alarms, line)
		}
	}
	p.tail = append(p.tail, lines...)
	p.tail = p.tail[max(0, len(p.tail)-10):]
}

// alarms returns how many workers of attention have said of a sequence that blocks are lost, and
// have not taken it back.
func (c *chaos) alarms() (n int) {
	for _, p := range c.running {
		p.read()
		n += len(p.lost)
	}
	return n
}

// alarm returns when a worker has said first that blocks of a sequence are lost; the zero time if
// none has.
func (c *chaos) alarm(sequence string) (first time.Time) {
	c.alarms()
	for _, p := range c.running {
		if at, ok := p.lost[sequence]; ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

func (c *chaos) errorsNow() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.errors)
}

// wait waits until something is so. After each minute it says what it waits for, and what programs
// have said lately.
func (c *chaos) wait(what string, is func() bool) {
	c.t.Helper()
	for begin, said := time.Now(), time.Minute; ; {
		if time.Since(begin) > said {
			c.t.Logf("waits for %s since %v; errors %v", what, time.Since(begin).Round(time.Second), c.errorsNow())
			for name, p := range c.running {
				p.read()
				c.t.Logf("%s: lost %v; %q", name, p.lost, p.tail)
			}
			said += time.Minute
		}
		c.mu.Lock()
		ok := is()
		c.mu.Unlock()
		if ok {
			return
		}
		if c.t.Failed() || c.t.Context().Err() != nil {
			c.t.FailNow()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// mostDisagree is how many reports in a row may say something else than what can be read: a
// sequence may change in between.
const mostDisagree = 10

// compare has what status says of each sequence compared with what can be read of it.
func (c *chaos) compare(after string) {
	c.t.Helper()
	for n := range writers {
		name := fmt.Sprint("text-", n)
		for disagree := 0; ; {
			before := c.lost(name)
			err := c.read(name)
			lost := c.lost(name)
			if before != lost || lost < 0 || err == nil && lost == 0 || isLost(err) && lost > 0 {
				break
			}
			if err != nil && !isLost(err) {
				continue // the directory or the server does not answer
			}
			if disagree++; disagree == mostDisagree {
				c.t.Fatalf("after %s status says that %d blocks of %s are lost, and reading it says %v", after, lost, name, err)
			}
		}
	}
}

// lost returns how many blocks of a sequence status says are lost, -1 if there is no such sequence.
func (c *chaos) lost(name string) int {
	c.t.Helper()
	for _, s := range c.status().Sequences {
		if s.Name == name {
			return s.Held.Lost
		}
	}
	return -1
}

// A chaosFault disturbs processes of a kind, and undoes that.
type chaosFault struct {
	name string
	of   string
	do   func(c *chaos) (undo func())
}

// disturb disturbs the cluster for some time, and waits until it has recovered.
func (c *chaos) disturb(faults ...*chaosFault) {
	c.t.Helper()
	var undo []func()
	name := ""
	for _, f := range faults {
		name += " and " + f.name
		undo = append(undo, f.do(c))
		c.faults++
	}
	c.delay.Store(0)
	time.Sleep(time.Duration(500+c.random.IntN(4000)) * time.Millisecond) // any time will do
	for _, f := range undo {
		f()
	}
	lossy := c.lossy
	if lossy {
		c.lossy = false
		c.forget()
	}
	c.settle(name[len(" and "):])
	for worker, p := range c.running {
		if delay := time.Duration(c.delay.Load()); delay > longDelay {
			c.t.Logf("a process waits for a CPU for %v; %s said: %q", delay, worker, p.alarms)
		} else if !lossy && len(p.alarms) > 0 {
			c.t.Errorf("%s loses nothing, and %s said: %q", name[len(" and "):], worker, p.alarms)
		}
		p.alarms = nil
	}
}

// longDelay is how long processes may wait for a CPU: -repair is 2 s, and a worker that waits
// longer than that looks as if a fault had disturbed it.
const longDelay = 500 * time.Millisecond

// measure finds out how long this process has to wait for a CPU.
func (c *chaos) measure() {
	const pause = 20 * time.Millisecond
	for begin := time.Now(); c.ctx.Err() == nil; begin = time.Now() {
		time.Sleep(pause)
		c.delay.Store(max(c.delay.Load(), int64(time.Since(begin)-pause)))
	}
}

// one returns any of some names.
func (c *chaos) one(names ...string) string { return names[c.random.IntN(len(names))] }

// models of the examples.
func (c *chaos) encoder() string { return filepath.Join(c.models, weights.MiniLM) }
