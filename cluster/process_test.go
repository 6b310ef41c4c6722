//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/gobytes"
)

// TestMain runs the command instead of the tests in the processes that the tests start.
func TestMain(m *testing.M) {
	if os.Getenv("CLUSTER_PROCESS") != "" {
		if os.Getenv("CLUSTER_PROCESS") == "watches" {
			testutil.EndWithParent()
		}
		if args := os.Args[1:]; args[0] == attend.name {
			command.Exit("cluster attend", attend.run(context.Background(), streams{os.Stdin, os.Stdout, os.Stderr}, args[1:]))
		} else {
			main()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process is a run of the command in a process of its own.
type process struct {
	*exec.Cmd
	lines  chan string // of standard error
	closed atomic.Bool
}

// modelsIn begins the first argument of startProcess that is the folder of the models of a process.
const modelsIn = "ATTN_MODELS="

// startProcess starts a process and waits for a line with the given text.
func startProcess(t testing.TB, ready string, args ...string) (p *process, line string) {
	t.Helper()
	env := append(os.Environ(), "CLUSTER_PROCESS=watches", "GOMAXPROCS=1")
	if strings.HasPrefix(args[0], modelsIn) {
		env, args = append(env, args[0]), args[1:]
	}
	p = &process{Cmd: exec.Command(os.Args[0], args...), lines: make(chan string, 1000)}
	p.Env = env
	stderr, err := p.StderrPipe()
	if err == nil {
		_, err = p.StdinPipe() // see EndWithParent
	}
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			select {
			case p.lines <- s.Text():
			default:
			}
		}
		p.closed.Store(true)
		close(p.lines)
	}()
	said := ""
	for line := range p.lines {
		if strings.Contains(line, ready) {
			return p, line
		}
		said += line + "\n"
	}
	t.Fatalf("%q ended without saying %q:\n%s", args, ready, said)
	return nil, ""
}

// kill is kill -9. It waits until the process is gone.
func (p *process) kill() {
	p.Process.Kill()
	p.Wait()
}

// ended tells whether the process has closed its standard error, which is so when it has ended.
func (p *process) ended() bool { return p.closed.Load() }

// said returns lines of standard error that nobody has read yet.
func (p *process) said() (lines []string) {
	for len(p.lines) > 0 {
		lines = append(lines, <-p.lines)
	}
	return lines
}

func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	for s == syscall.SIGSTOP && !p.isStopped() {
		time.Sleep(time.Millisecond)
	}
}

// interrupt has the process end by itself.
func (p *process) interrupt(t testing.TB) {
	t.Helper()
	p.signal(t, os.Interrupt.(syscall.Signal))
	p.Wait()
	if !p.ProcessState.Success() {
		t.Errorf("after an interrupt: %v", p.ProcessState)
	}
}

// isStopped tells whether the process stands still. Where there is no /proc it takes that for
// granted.
func (p *process) isStopped() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	if err != nil {
		return true
	}
	after := stat[bytes.LastIndexByte(stat, ')')+1:] // the name of the program may have anything in it
	return bytes.HasPrefix(after, []byte(" T"))
}

// processes is a server and workers in processes of their own.
type processes struct {
	t       testing.TB
	server  *process
	url     string
	workers map[string]*process
}

func startProcesses(t testing.TB, workers ...string) *processes {
	t.Helper()
	p := &processes{t: t, workers: map[string]*process{}}
	p.serve(freePorts(1)[0]) // which another one can take over
	for _, name := range workers {
		p.work(name, p.url)
	}
	return p
}

// serve starts the server on a port; -1 is any that is free.
func (p *processes) serve(port string, flags ...string) {
	p.t.Helper()
	var line string
	p.server, line = startProcess(p.t, "listening on", append([]string{"serve", "-port", port}, flags...)...)
	p.url = line[strings.Index(line, "nats://"):]
}

// work starts a worker that connects to a URL.
func (p *processes) work(name, url string) {
	p.t.Helper()
	p.workers[name], _ = startProcess(p.t, "waits for", "work", "-name", name, "-server", url)
}

var activations = sync.OnceValues(func() (*sample, error) {
	m, err := gobytes.Default()
	if err != nil {
		return nil, err
	}
	return readSample(m, source, 6000)
})

// callTimeout is how long a call of a test waits for the last workers, which may wait for a CPU.
const callTimeout = 10 * time.Minute

// texts places sequences on the workers; all results are compared with attention in this
// process.
func (p *processes) texts(replicas int, lengths ...int) *texts {
	p.t.Helper()
	ctx := context.Background()
	a, err := activations()
	if err != nil {
		p.t.Fatal(err)
	}
	conn, err := hub.Connect(ctx, hub.Config{URL: p.url, Wait: -1})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(conn.Close)
	config := modelConfig
	config.Replicas, config.Patience, config.Timeout = replicas, 200*time.Millisecond, callTimeout
	c, err := newClient(ctx, conn, config, max(1, len(p.workers)))
	if err != nil {
		p.t.Fatal(err)
	}
	x, err := newTexts(ctx, c, a, config.Type, lengths)
	if err != nil {
		p.t.Fatal(err)
	}
	return x
}

// steps decodes, with the results compared.
func (x *texts) steps(t testing.TB, n int) shard.Stats {
	t.Helper()
	stats, err := x.decode(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return stats
}

// network is what a [testutil.Proxy] stands for: locked, it is cut, without either side noticing.
type network struct {
	sync.RWMutex
	flips atomic.Int64 // bits to flip, one in each piece that passes
}

// pass waits while the network is cut, and damages bytes.
func (n *network) pass(data []byte) {
	n.RLock()
	//lint:ignore SA2001 it waits until the network is whole again
	n.RUnlock()
	if len(data) == 0 {
		return
	}
	if left := n.flips.Add(-1); left < 0 {
		n.flips.Add(1)
	} else {
		data[int(left*7919)%len(data)] ^= 1 << (left % 8)
	}
}
