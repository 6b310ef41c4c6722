//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/command"
)

// attendNamed runs attend on sequences of the directory, with results compared.
func (p *processes) attendNamed(tokens int) string {
	p.t.Helper()
	out, report, err := runCommand(p.t.Context(), "attend", "-server", p.url, "-name", "text", "-keys", "1500", "-tokens", fmt.Sprint(tokens), "-patience", "200ms")
	if err != nil || !strings.Contains(out, "they have the bits that one machine gives") {
		p.t.Fatalf("%v\n%s%s", err, out, report)
	}
	return out
}

// holds tells whether a worker of a name is in what the subcommand sequences says.
func holds(out, name string) bool { return strings.Contains(out, " "+name+"-") }

// A client that is killed in the middle of an append leaves a sequence that the next one goes
// on with.
func TestKillClient(t *testing.T) {
	long(t)
	t.Parallel()
	p := startProcesses(t, "a", "b")
	conn, err := hub.Connect(t.Context(), hub.Config{URL: p.url, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for i := range faultRuns() {
		c := exec.Command(os.Args[0], "attend", "-server", p.url, "-name", "text", "-keys", "1500", "-tokens", "1500", "-check=false")
		c.Env = append(os.Environ(), "CLUSTER_PROCESS=1", "GOMAXPROCS=1")
		stdout, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		begun := false
		for s := bufio.NewScanner(stdout); !begun && s.Scan(); {
			begun = strings.Contains(s.Text(), "are on workers")
		}
		if !begun {
			t.Fatalf("the client ends at once: %v", c.Wait())
		}
		ended := make(chan struct{})
		go func() {
			c.Wait()
			close(ended)
		}()
		for keys := 0; keys <= 1500+2*i; { // until it has appended something
			all := list(t, conn)
			if len(all) > 1 {
				t.Fatalf("%d sequences", len(all))
			}
			if len(all) == 1 {
				keys = all[0].Keys
			}
			select {
			case <-ended:
				t.Fatalf("the client ended before it was killed: %v, %d keys", c.ProcessState, keys)
			case <-time.After(10 * time.Millisecond):
			}
		}
		time.Sleep(time.Duration(50+37*i) * time.Millisecond)
		c.Process.Kill()
		<-ended
		if c.ProcessState.Success() {
			t.Error("the client came to its end before it was killed")
		}
		var keys int
		out := p.attendNamed(2)
		if _, err := fmt.Sscanf(out[strings.Index(out, "has "):], "has %d keys already", &keys); err != nil || keys <= 1500+2*i {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%d keys were there", keys)
	}
}

// After kill -9 of a worker the others make copies again, so that a second one may be killed, while
// a client decodes.
func TestKillTwo(t *testing.T) {
	long(t)
	t.Parallel()
	p := startProcesses(t)
	for _, name := range []string{"a", "b", "c"} {
		p.workers[name], _ = startProcess(t, "waits for", "work", "-name", name, "-server", p.url, "-repair", "2s")
	}
	p.attendNamed(1)
	x := p.texts(2, 700)
	p.workers["b"].kill()
	during(t, x, 20, func() { untilRepaired(t, p.url, 2) })
	if out, _, err := runCommand(t.Context(), "sequences", "-server", p.url); err != nil || holds(out, "b") {
		t.Errorf("%v\n%s", err, out)
	}
	p.workers["a"].kill()
	out := p.attendNamed(3)
	if !strings.HasPrefix(out, "Sequence text-0.") {
		t.Error(out)
	}
	if out, _, err := runCommand(t.Context(), "sequences", "-server", p.url, "text-0"); err != nil || !strings.Contains(out, "text-0: 1504 keys") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, _, err := runCommand(t.Context(), "sequences", "-server", p.url, "-free", "text-0"); err != nil {
		t.Error(err)
	}
	if out, _, err := runCommand(t.Context(), "sequences", "-server", p.url); err != nil || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
	if _, _, err := runCommand(t.Context(), "sequences", "-server", p.url, "text-0"); !errors.Is(err, shard.ErrNotFound) {
		t.Errorf("a sequence that was freed: %v", err)
	}
	if _, _, err := runCommand(t.Context(), "sequences", "-free"); !errors.As(err, new(command.UsageError)) {
		t.Errorf("no name: %v", err)
	}
}
