package embed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/encoder"
)

// The environment variable with which the test binary becomes a server, a worker or a client.
const roleVariable = "ATTN_EMBED_TEST_ROLE"

// A role is what a process of a test does.
type role struct {
	Kind    string // server, worker or client
	URL     string
	Port    int
	Store   string
	Model   string // folder
	AckWait time.Duration
	Delay   time.Duration // that a job takes longer
	Poison  string        // a text on which a worker dies
	Options Options
}

func TestMain(m *testing.M) {
	text := os.Getenv(roleVariable)
	if text == "" {
		flag.Parse()
		flag.Set("test.parallel", "8") // tests wait more than they compute
		code := m.Run()
		os.RemoveAll(tinyModel())
		os.Exit(code)
	}
	var r role
	err := json.Unmarshal([]byte(text), &r)
	if err == nil {
		err = r.run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	if err != nil {
		os.Exit(1)
	}
}

// run is the main function of a process.
func (r *role) run(ctx context.Context) error {
	if r.Kind == "server" {
		s, err := hub.Serve(ctx, hub.ServerConfig{Port: r.Port, StoreDir: r.Store})
		if err != nil {
			return err
		}
		fmt.Println("ready")
		<-s.Done()
		return nil
	}
	conn, err := hub.Connect(ctx, hub.Config{URL: r.URL, Wait: 20 * time.Second})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if r.Kind == "worker" {
		w, err := r.worker(conn)
		if err != nil {
			return err
		}
		return w.Run(ctx)
	}
	c := Client{Conn: conn, Options: r.Options}
	_, err = c.Run(ctx)
	return err
}

// worker returns the worker of a role.
func (r *role) worker(conn *hub.Conn) (*Worker, error) {
	m, err := LoadModel(r.Model, encoder.Options{Exec: kernel.Exec{Threads: 1}})
	if err != nil {
		return nil, err
	}
	m.Embedder = &hooked{m.Embedder, r.Delay, r.Poison}
	return &Worker{Conn: conn, Model: m, AckWait: r.AckWait, Report: func(s string) { fmt.Fprintln(os.Stderr, s) }}, nil
}

// hooked is a model that is slow and dies on a text.
type hooked struct {
	Embedder
	delay  time.Duration
	poison string
}

func (h *hooked) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	for _, t := range texts {
		if h.poison != "" && t == h.poison {
			os.Exit(3)
		}
	}
	pause(ctx, h.delay)
	return h.Embedder.Embed(ctx, texts)
}

// A process is a child of the test.
type process struct {
	cmd  *exec.Cmd
	log  *safeBuffer
	done chan struct{}
}

// start starts a process and waits until it is ready. It ends with the test at the latest.
func start(t testing.TB, r role) *process {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0]), log: &safeBuffer{}, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	go func() {
		io.Copy(io.Discard, out)
		p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(p.kill)
	if line != "ready\n" {
		p.kill()
		t.Fatalf("%s: %s", r.Kind, p.log)
	}
	return p
}

// kill ends a process as kill -9 does, and waits for that.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// freePort returns a port on which nobody listens.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// A safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.TrimSpace(b.b.String())
}
