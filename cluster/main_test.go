package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/models/command"
)

// runCommand runs the command with the given arguments and returns what it printed.
func runCommand(ctx context.Context, args ...string) (out, report string, err error) {
	var o, r bytes.Buffer
	s := streams{strings.NewReader(""), &o, &r}
	if len(args) > 0 && args[0] == attend.name {
		err = attend.run(ctx, s, args[1:])
	} else {
		err = run(ctx, s, args)
	}
	return o.String(), r.String(), err
}

// Every subcommand has a help text, and refuses flags and arguments that it does not know.
func TestSubcommands(t *testing.T) {
	out, _, err := runCommand(t.Context(), "help")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range subcommands() {
		if !strings.Contains(out, "  "+c.name+" ") {
			t.Errorf("help lacks %s:\n%s", c.name, out)
		}
		out, _, err := runCommand(t.Context(), c.name, "-h")
		if !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(out, "usage: cluster "+c.name) {
			t.Errorf("%s -h: %v\n%s", c.name, err, out)
		}
		if _, _, err := runCommand(t.Context(), c.name, "-nosuchflag"); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%s -nosuchflag: %v", c.name, err)
		}
	}
	for _, args := range [][]string{{}, {"nosuch"}, {"serve", "x"}, {"work", "x"}} {
		if _, _, err := runCommand(t.Context(), args...); !errors.As(err, new(command.UsageError)) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// Without a server the error says how to get one. What is wrong with a command line, or with a file
// that it names, is said before a server is asked for, with the subcommand that has the help.
func TestNoServer(t *testing.T) {
	url := fmt.Sprint("nats://127.0.0.1:", testutil.FreePort())
	_, err := connect(t.Context(), hub.Config{URL: url, Wait: time.Nanosecond})
	if err == nil || !strings.Contains(err.Error(), "cluster serve") || !strings.Contains(err.Error(), url) {
		t.Errorf("connect: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = connect(ctx, hub.Config{URL: url}); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "cluster serve") {
		t.Errorf("connect after an interrupt: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing.txt")
	if _, _, err := runCommand(t.Context(), "embed", "-server", url, "-o", missing+".npy", missing); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("embed of a missing file: %v", err)
	}
	for args, want := range map[string]string{"": "cluster", "nosuch": "cluster", "embed -nosuch": "cluster embed", "work": "cluster work"} {
		if got := nameOf(strings.Fields(args)); got != want {
			t.Errorf("%q: errors name %q, want %q", args, got, want)
		}
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := newLines()
	done := make(chan error, 1)
	go func() { done <- run(ctx, streams{strings.NewReader(""), w, w}, []string{"serve", "-port", "-1"}) }()
	if line := <-r; !strings.HasPrefix(line, "cluster: listening on nats://127.0.0.1:") {
		t.Error(line)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// copied is the line of copies: how many they are depends on which workers were late before.
var copied = regexp.MustCompile(`Worker dora gets copies of \d+ blocks\.`)

// The demonstration compares every bit by itself, also with the workers of another server.
func TestDemo(t *testing.T) {
	t.Parallel()
	out, _, err := runCommand(t.Context(), "demo", "-tokens", "12")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"returns |the ru", "...ntime.|", "All logits have the bits that one machine gives.", "Worker bert is cut off.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	if !copied.MatchString(out) {
		t.Errorf("the output lacks %q:\n%s", copied, out)
	}
	server, err := hub.Serve(t.Context(), hub.ServerConfig{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := hub.Connect(t.Context(), server.Client())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	worker, err := shard.NewWorker(conn, shard.WorkerConfig{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if out, _, err := runCommand(t.Context(), "demo", "-tokens", "3", "-server", server.URL()); err != nil || !strings.Contains(out, "1 workers hold") || !strings.Contains(out, "that one machine gives") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A worker says that it waits, and ends with its context.
func TestWork(t *testing.T) {
	server, err := hub.Serve(t.Context(), hub.ServerConfig{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := newLines()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, streams{strings.NewReader(""), w, w}, []string{"work", "-name", "a", "-server", server.URL()})
	}()
	if line := <-r; !strings.Contains(line, "worker a waits for keys") {
		t.Error(line)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// lines is a writer that hands out lines as they are written.
type lines struct {
	text []byte
	out  chan string
}

func newLines() (<-chan string, *lines) {
	l := &lines{out: make(chan string, 100)}
	return l.out, l
}

func (l *lines) Write(p []byte) (int, error) {
	l.text = append(l.text, p...)
	for {
		line, rest, found := bytes.Cut(l.text, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.out <- string(line)
		l.text = rest
	}
}
