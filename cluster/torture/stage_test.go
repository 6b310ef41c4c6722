//go:build unix

package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/models/encoder/berttest"
)

// A stage is a cluster of processes: a server, machines with workers beside it, and one behind a proxy.
type stage struct {
	settings
	report  io.Writer
	dir     string // temporary
	random  *rand.Rand
	far     network
	url     string
	farURL  string
	closeTo func() // the proxy
	server  *process
	workers []*process
	tries   int
	hit     bool // the fault of this try met a client at work, and did what it is to do
	corpus  *corpus
}

// network is what happens to the bytes of the proxy.
type network struct {
	cut   sync.RWMutex // locked, nothing passes
	flips atomic.Int64 // bits to flip, one in each piece that passes
}

// flips is how many bits the fault flips at most: one in each piece that passes until the client ends.
const flips = 20

// pass damages bytes, or waits.
func (n *network) pass(data []byte) {
	n.cut.RLock()
	//lint:ignore SA2001 it waits until the network is whole again
	n.cut.RUnlock()
	if len(data) == 0 {
		return
	}
	if left := n.flips.Add(-1); left < 0 {
		n.flips.Add(1)
	} else {
		data[int(left)*len(data)/flips%len(data)] ^= 1 << (left % 8)
	}
}

// machines is how many there are, with a worker of attention and one of models each. The last one is behind the proxy.
const machines = 3

// newStage starts a cluster in a folder of its own.
func newStage(ctx context.Context, s settings, report io.Writer) (*stage, error) {
	x := &stage{settings: s, report: report, random: rand.New(rand.NewPCG(s.seed, 7)), closeTo: func() {}}
	var err error
	if x.dir, err = os.MkdirTemp("", "attn-torture"); err != nil {
		return nil, err
	}
	if err := x.begin(ctx); err != nil {
		x.close()
		return nil, err
	}
	return x, nil
}

// begin builds the command, if need be, and starts the cluster.
func (x *stage) begin(ctx context.Context) error {
	if x.program == "" {
		x.program = filepath.Join(x.dir, "cluster")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", x.program, "github.com/attn-go/attn/cluster").CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	if err := os.Mkdir(x.model(), 0o700); err != nil {
		return err
	}
	if err := berttest.New("").Write(x.model(), "F32"); err != nil {
		return err
	}
	var err error
	if x.corpus, err = newCorpus(ctx, x.model(), filepath.Join(x.dir, "corpus.txt")); err != nil {
		return err
	}
	if err := x.serve(); err != nil {
		return err
	}
	url, stop, err := testutil.Listen(x.url, x.far.pass)
	if err != nil {
		return err
	}
	x.farURL, x.closeTo = url, stop
	x.workers = make([]*process, 2*machines)
	return x.revive()
}

func (x *stage) model() string   { return filepath.Join(x.dir, "model") }
func (x *stage) store() string   { return filepath.Join(x.dir, "store") }
func (x *stage) output() string  { return filepath.Join(x.dir, "v.npy") }
func (x *stage) journal() string { return x.output() + ".journal" }

// serve starts the server on its port, the first one on any that is free.
func (x *stage) serve() error {
	port := "-1"
	if u, err := url.Parse(x.url); err == nil && u.Port() != "" {
		port = u.Port()
	}
	p, err := start(x.program, "listening on", "serve", "-port", port, "-store", x.store())
	if err != nil {
		return err
	}
	x.server = p
	line, err := p.wait()
	if err == nil {
		_, x.url, _ = strings.Cut(line, "listening on ")
	}
	return err
}

// revive starts the processes of machines that have ended.
func (x *stage) revive() error {
	for i := range x.workers {
		name, to := fmt.Sprintf("w%d", i%machines), x.url
		if i%machines == machines-1 {
			to = x.farURL
		}
		ready, args := "waits for", []string{"work", "-repair", "1s", "-keep", "5s"}
		if i >= machines {
			ready, args = "answers with", []string{"answer", "-model", "m=" + x.model(), "-patience", "1s"}
		}
		if w := x.workers[i]; w != nil && !w.ended() {
			continue
		}
		p, err := start(x.program, ready, append(args, "-name", name, "-server", to, "-threads", "1")...)
		if err != nil {
			return err
		}
		x.workers[i] = p
		if _, err := p.wait(); err != nil {
			return err
		}
	}
	return nil
}

// machine returns the processes of a machine.
func (x *stage) machine() []*process {
	i := x.random.IntN(machines)
	return []*process{x.workers[i], x.workers[i+machines]}
}

// close ends all processes and removes the folder.
func (x *stage) close() {
	for _, p := range append(x.workers, x.server) {
		if p != nil {
			p.kill()
		}
	}
	x.closeTo()
	os.RemoveAll(x.dir)
}

// Limits of a try.
const (
	mostClients = 4 // runs of the command, after kills and errors
	clientTime  = 90 * time.Second
)

// try disturbs a client once. The error is that of ctx, or of a process that does not start.
func (x *stage) try(ctx context.Context, f fault) (outcome, error) {
	x.tries++
	var o outcome
	defer x.far.flips.Store(0)
	x.hit = false
	for n := range mostClients {
		if err := x.revive(); err != nil {
			return o, err
		}
		client, err := start(x.program, f.work.ready, f.work.args(x)...)
		if err != nil {
			return o, err
		}
		if n == 0 {
			err = x.disturb(client, f)
		}
		if err == nil {
			err = await(ctx, client)
		}
		client.kill()
		if err != nil && !errors.Is(err, errSlow) {
			return o, err
		}
		killed := n == 0 && client.cmd.ProcessState.ExitCode() == -1 && err == nil
		switch {
		case killed:
		case client.cmd.ProcessState.Success():
			if err := f.work.check(x, client); err != nil {
				return outcome{wrong: true, detail: err.Error()}, nil
			}
			o.missed = !x.hit || n == 0 && x.far.flips.Load() == flips
			return o, nil
		case strings.Contains(client.said(), "differ from those of one machine"):
			return outcome{wrong: true, detail: client.said()}, nil
		default:
			o.errors++
			o.detail = fmt.Sprint(err, client.said())
		}
	}
	o.never = true
	return o, nil
}

// disturb waits for the client to be at work and a moment more, and disturbs it.
func (x *stage) disturb(client *process, f fault) error {
	select {
	case <-client.ready:
	case <-client.done:
		return nil
	}
	time.Sleep(time.Duration(x.random.IntN(250)) * time.Millisecond)
	x.hit = !client.ended()
	return f.disturb(x, client)
}

// errSlow is the error of a client that does not end.
var errSlow = fmt.Errorf("no end after %v", clientTime)

// await waits for the end of a client.
func await(ctx context.Context, client *process) error {
	select {
	case <-client.done:
		return nil
	case <-time.After(clientTime):
		return errSlow
	case <-ctx.Done():
		return ctx.Err()
	}
}
