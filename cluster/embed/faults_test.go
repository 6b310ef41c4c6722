//go:build unix

package embed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/relay"
)

// runs is how often TestFaults repeats each fault.
var runs = flag.Int("faults.runs", 1, "how `often` TestFaults repeats each fault")

// A stage is a server and workers in processes of their own, which a fault disturbs.
type stage struct {
	*bench
	*testing.T
	server  role
	running *process
	workers []*process
	random  *rand.Rand
}

// newStage starts a server with a folder and n workers.
func newStage(t *testing.T, texts, n int, seed uint64) *stage {
	s := &stage{T: t, random: rand.New(rand.NewPCG(seed, 7))}
	s.server = role{Kind: "server", Port: testutil.FreePort(), Store: t.TempDir()}
	s.bench = newCorpus(t, fmt.Sprintf("nats://127.0.0.1:%d", s.server.Port), texts)
	s.running = start(t, s.server)
	for range n {
		s.workers = append(s.workers, start(t, s.role()))
	}
	return s
}

// options are of a client that soon notices a worker or a server that stands still.
func (s *stage) options() Options {
	o := s.bench.options()
	o.Retry = time.Second
	return o
}

// some waits between lo and hi.
func (s *stage) some(lo, hi time.Duration) {
	time.Sleep(lo + time.Duration(s.random.Int64N(int64(hi-lo))))
}

// faults disturb a stage again and again until the client is done.
var faults = []struct {
	name    string
	short   bool // also with -short
	workers int
	most    int // faults of a run
	disturb func(s *stage)
}{
	{"worker: kill -9", true, 2, 20, func(s *stage) {
		s.some(50*time.Millisecond, 300*time.Millisecond)
		i := s.random.IntN(len(s.workers))
		s.workers[i].kill()
		s.workers[i] = start(s.T, s.role())
	}},
	{"worker: SIGSTOP for longer than a worker may be silent", false, 2, 4, func(s *stage) {
		s.some(50*time.Millisecond, 200*time.Millisecond)
		w := s.workers[s.random.IntN(len(s.workers))]
		w.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(3 * time.Second)
		w.cmd.Process.Signal(syscall.SIGCONT)
	}},
	{"worker: a slow one", false, 1, 1, func(s *stage) {
		slow := s.role()
		slow.Delay = 1500 * time.Millisecond
		s.workers = append(s.workers, start(s.T, slow))
	}},
	{"server: kill -9", false, 2, 5, func(s *stage) {
		s.some(100*time.Millisecond, 500*time.Millisecond)
		s.running.kill()
		s.some(0+1, 200*time.Millisecond)
		s.running = start(s.T, s.server)
	}},
	{"server: kill -9, and its files are lost", false, 2, 2, func(s *stage) {
		s.some(300*time.Millisecond, 800*time.Millisecond)
		s.running.kill()
		if err := os.RemoveAll(s.server.Store); err != nil {
			s.Fatal(err)
		}
		s.running = start(s.T, s.server)
		time.Sleep(2 * time.Second) // until everyone has noticed
	}},
	{"all at once: kill -9 of workers and the server", false, 3, 12, func(s *stage) {
		s.some(50*time.Millisecond, 300*time.Millisecond)
		if s.random.IntN(4) == 0 {
			s.running.kill()
			s.running = start(s.T, s.server)
			return
		}
		i := s.random.IntN(len(s.workers))
		s.workers[i].kill()
		s.workers[i] = start(s.T, s.role())
	}},
}

// TestFaults disturbs servers and workers, which are processes, and expects the files of one
// machine.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && !f.short {
				t.Skip("NOT RUN with -short")
			}
			for run := range *runs {
				s := newStage(t, 800, f.workers, uint64(run))
				ctx, cancel := context.WithCancel(t.Context())
				begun, done := make(chan struct{}), make(chan struct{})
				count := 0
				go func() {
					defer close(done)
					<-begun
					for ; ctx.Err() == nil && count < f.most; count++ {
						f.disturb(s)
					}
				}()
				o := s.options()
				o.Window = 64
				begin := sync.OnceFunc(func() { close(begun) })
				c := Client{Conn: s.connect(t), Options: o, Report: func(s string) { t.Log(s) }, Progress: func(Progress) { begin() }}
				summary, err := c.Run(t.Context())
				cancel()
				begin()
				<-done
				if err != nil {
					t.Fatal(err)
				}
				s.check(t)
				for _, w := range s.workers {
					w.kill()
				}
				s.running.kill()
				t.Logf("run %d: %d faults in %v: %d split", run, count, summary.Took.Round(time.Millisecond), summary.Split)
				if summary.Texts != 800 || summary.Rejected != 25 {
					t.Errorf("run %d: %+v", run, summary)
				}
			}
		})
	}
}

// TestOutage has a server that is away for longer than five workers may be silent, one after the
// other, with a job and then with a text: no text is rejected. If it is away for longer than the
// patience of the run, the run ends, and goes on later.
func TestOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: it takes seconds")
	}
	t.Parallel()
	s := newStage(t, 60, 0, 1)
	killed := s.running.done
	s.seeLast(t, func(context.Context) { s.running.kill() })
	o := s.options()
	o.Window, o.JobTexts = 2, 4
	c := Client{Conn: s.connect(t), Options: o}
	c.Options.Patience = 2 * (tries + 1) * o.Retry
	for !closed(killed) { // on a busy machine a run may stall before
		var stalled *StalledError
		if x, err := c.Run(t.Context()); !errors.As(err, &stalled) || x.Split > 0 {
			t.Fatalf("%+v, %v", x, err)
		}
	}
	s.running = start(t, s.server)
	if x := s.run(t, o); x.Resumed == 0 || x.Split > 0 { // other rejects than the texts that are bad are other files
		t.Errorf("%+v", x)
	}
}

// TestKilledClient kills clients until one gets to the end. If that is the first one, as this
// process had to wait for longer than that takes, it begins again.
func TestKilledClient(t *testing.T) {
	t.Parallel()
	for run := range *runs {
		s := newStage(t, 800, 2, uint64(run))
		o := s.options()
		o.Window = 4
		client := role{Kind: "client", URL: s.url, Options: o}
		kills := 0
		for whole := false; !whole || kills == 0; {
			p := start(t, client)
			s.some(150*time.Millisecond, 600*time.Millisecond)
			if kills > 30 {
				<-p.done
			}
			if whole = closed(p.done); !whole {
				p.kill()
				kills++
				continue
			}
			if !p.cmd.ProcessState.Success() {
				t.Fatalf("%s", p.log)
			}
			s.check(t)
		}
		t.Logf("run %d: %d kills", run, kills)
	}
}

// TestPoison has a text on which every worker dies. It alone has no vector.
func TestPoison(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: it takes seconds")
	}
	t.Parallel()
	const poison = "c c c poison"
	b := newBench(t, 100)
	b.add(t, poison, "a", "b")
	b.want = b.expect(t, map[string]string{poison: "no worker survived or answered in 5 tries"})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	deaths := 0
	all.Go(func() { // there is always a worker
		r := b.role()
		r.Poison = poison
		for ; ctx.Err() == nil; deaths++ {
			p := start(t, r)
			select {
			case <-p.done:
			case <-ctx.Done():
			}
		}
	})
	o := b.options()
	o.Retry = time.Second // a question that dies with a worker has no answer
	summary := b.run(t, o)
	cancel()
	all.Wait()
	if summary.Split == 0 || deaths == 0 { // on a busy machine a worker may count as lost that lives
		t.Errorf("%d workers died, %+v", deaths, summary)
	}
}

// TestFailing expects that a text is rejected if the model fails on it, with the error as the
// reason, and no other text.
func TestFailing(t *testing.T) {
	t.Parallel()
	for panics, reason := range map[bool]string{false: "this text", true: "no worker survived or answered in 5 tries"} {
		b := newBench(t, 100)
		b.want = b.expect(t, map[string]string{"a b c": reason})
		b.work(t, "", func(s relay.Answerer) relay.Answerer { return &hooked{Answerer: s, fails: "a b c", panics: panics} })
		if s := b.run(t, b.options()); s.Split != 1 {
			t.Errorf("%+v", s)
		}
	}
}

// TestBusy has a worker that takes one call at a time, and a client that has many: it waits, and
// loses nothing.
func TestBusy(t *testing.T) {
	t.Parallel()
	b := newBench(t, 200)
	busy := make(chan struct{}, 1)
	b.work(t, "", func(s relay.Answerer) relay.Answerer { return &narrow{s, busy} })
	o := b.options()
	o.Window = 100
	b.run(t, o)
}

// narrow is a server that refuses a call while it has another one.
type narrow struct {
	relay.Answerer
	busy chan struct{}
}

func (n *narrow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case n.busy <- struct{}{}:
		n.Answerer.ServeHTTP(w, r)
		<-n.busy
	default:
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// role returns a worker of the tiny model as a process.
func (b *bench) role() role {
	return role{Kind: "worker", URL: b.url, Model: tinyModel(), Delay: 30 * time.Millisecond}
}
