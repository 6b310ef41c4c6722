package embed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/server"
)

// The environment variable with which the test binary becomes a server, a worker or a client.
const roleVariable = "ATTN_EMBED_TEST_ROLE"

// A role is what a process of a test does.
type role struct {
	Kind    string // server, worker or client
	URL     string
	Port    int
	Store   string
	Model   string        // folder
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
	testutil.EndWithParent()
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
	conn, err := hub.Connect(ctx, hub.Config{URL: r.URL, Wait: -1})
	if err != nil {
		return err
	}
	if r.Kind == "client" {
		fmt.Println("ready")
	}
	if r.Kind == "worker" {
		return r.work(ctx, conn)
	}
	c := Client{Conn: conn, Options: r.Options}
	_, err = c.Run(ctx)
	return err
}

// work runs the worker of a role.
func (r *role) work(ctx context.Context, conn *hub.Conn) error {
	m, err := server.Load(r.Model, server.LoadOptions{Name: "tiny", Exec: kernel.Exec{Threads: 1}})
	if err != nil {
		return err
	}
	s, err := server.New(server.Settings{Logger: slog.New(slog.DiscardHandler)}, m)
	if err != nil {
		return err
	}
	w := relay.Worker{Conn: conn, Name: "w", Server: &hooked{Answerer: s, delay: r.Delay, poison: r.Poison, flush: conn.Flush}, Ready: func() { fmt.Println("ready") }}
	return w.Run(ctx)
}

// hooked is a server that is slow, calls saw for a text, dies on one, or fails on one, by an error
// or by a panic.
type hooked struct {
	relay.Answerer
	delay         time.Duration
	turn          sync.Mutex // one job is slow after the other
	sees          string
	saw           func(ctx context.Context) // the request's, before its answer
	poison, fails string
	panics        bool
	flush         func() error // of the connection, before it dies
}

func (h *hooked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		h.Answerer.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	has := func(text string) bool { return text != "" && bytes.Contains(body, []byte(strconv.Quote(text))) }
	if has(h.sees) {
		h.saw(r.Context())
	}
	switch {
	case has(h.poison):
		h.flush() // the gateway knows who has the request
		os.Exit(3)
	case has(h.fails) && h.panics:
		panic("this text")
	case has(h.fails):
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"error": {"message": "this text"}}`)
		return
	}
	h.turn.Lock()
	hub.Pause(r.Context(), h.delay)
	h.turn.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.Answerer.ServeHTTP(w, r)
}

// A process is a child of the test.
type process struct {
	cmd  *exec.Cmd
	log  *testutil.Buffer
	done chan struct{}
}

// start starts a process and waits until it is ready. It ends with the test at the latest.
func start(t testing.TB, r role) *process {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0]), log: &testutil.Buffer{}, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		_, err = p.cmd.StdinPipe() // see EndWithParent
	}
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
