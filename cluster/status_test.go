//go:build unix

package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

// TestStatus expects that status has the worker, what it holds and for whom, as JSON and as text.
func TestStatus(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, "a")
	conn, err := hub.Connect(t.Context(), hub.Config{URL: p.url, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	client, err := newClient(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2, Timeout: callTimeout}, 1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.Create(t.Context(), "text")
	if err != nil {
		t.Fatal(err)
	}
	rows := kernel.BHLD(make([]float32, 600*2), 1, 1, 600, 2)
	if err := client.Append(t.Context(), []*shard.Sequence{s}, rows, rows); err != nil {
		t.Fatal(err)
	}
	got := statusOf(t, p.url, 1)
	if got.Version != hub.Own.String() || len(got.Workers) != 1 || len(got.Sequences) != 1 || got.Sequences[0] != (sequenceStatus{"text", 600, 1, 2, "", shard.Copies{Least: 1}}) {
		t.Fatalf("%+v", got)
	}
	w := got.Workers[0]
	if w.Name != "a" || !strings.HasPrefix(w.ID, "a-") || w.Error != "" || len(w.Holds) != 1 || w.Holds[0].For != "sequence text" || w.Holds[0].Blocks != 3 || w.Holds[0].Bytes != w.Used {
		t.Errorf("%+v", w)
	}
	untilSays(t, has("worker "+w.ID+": version "+hub.Own.String(), "  for sequence text: 3 blocks", "sequence text: 600 keys, each block on 1 of 2 workers"), "status", "-server", p.url)
	// An empty worker takes the name of the one that held all.
	p.workers["a"].kill()
	p.work("a", p.url)
	untilSays(t, has("each block on 0 of 2 workers at least, 3 BLOCKS LOST"), "status", "-server", p.url)
}

// A server that has lost the two others of its cluster has no streams. Status says so, and what it
// knows all the same.
func TestStatusWithoutQuorum(t *testing.T) {
	t.Parallel()
	ports := freePorts(3)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("between servers\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, line := startProcess(t, "listening on", "serve", "-cluster", "attn", "-name", "n0", "-port", "-1", "-cluster-port", ports[0], "-store", t.TempDir(),
		"-route-password-file", secret, "-route", "nats://127.0.0.1:"+ports[1], "-route", "nats://127.0.0.1:"+ports[2])
	p := &processes{t: t, workers: map[string]*process{}, url: line[strings.Index(line, "nats://"):]}
	p.work("a", p.url)
	startProcess(t, "msg=listening", "gateway", "-addr", "127.0.0.1:0", "-server", p.url)
	startProcess(t, "answers with", "answer", "-name", "b", "-model", "../models/testdata/tiny/llama-2", "-cache-shared", "1", "-server", p.url) // also without that cache
	out, _, err := runCommand(t.Context(), "status", "-server", p.url)
	if err == nil || !strings.Contains(err.Error(), "the directory: ") || !strings.Contains(err.Error(), "JetStream has no leader") {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"worker a-", "gateway ", "answer b: version"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
}

// Sequences and status say the same of blocks whose workers are gone, and metrics and the log of a
// worker have it too. What nobody can read can be freed without any worker.
func TestLostBlocks(t *testing.T) {
	t.Parallel()
	p := startProcesses(t)
	w, line := startProcess(t, "metrics at", "work", "-name", "a", "-repair", "400ms", "-server", p.url, "-metrics", "0")
	if w.waitFor("waits for") == "" {
		t.Fatal("the worker has ended")
	}
	p.work("b", p.url)
	if out, report, err := runCommand(t.Context(), "attend", "-server", p.url, "-name", "s", "-keys", "1500", "-tokens", "1", "-replicas", "1", "-workers", "2"); err != nil {
		t.Fatalf("%v\n%s%s", err, out, report)
	}
	p.workers["b"].kill()
	lost := fmt.Sprintf("%d BLOCKS LOST", statusOf(t, p.url, 1).Sequences[0].Held.Lost)
	for _, subcommand := range []string{"status", "sequences"} {
		untilSays(t, has("on 0 of 1 workers at least, "+lost), subcommand, "-server", p.url)
	}
	if lost[0] == '0' {
		t.Error("no block is lost")
	}
	if out, _, _ := runCommand(t.Context(), "sequences", "-server", p.url); !strings.Contains(out, "DOES NOT ANSWER)") {
		t.Errorf("%s", out)
	}
	eventually(t, metricsURL(line)+"/metrics", http.StatusOK, "attn_cluster_shard_lost_blocks "+lost[:1]+"\n", "attn_cluster_shard_lacking_blocks 0\n")
	if got := w.waitFor("blocks that no worker holds"); !strings.Contains(got, "lost="+lost[:1]) {
		t.Errorf("the log has %q", got)
	}
	w.kill()
	for line := range w.lines {
		if strings.Contains(line, "WARN") && strings.Contains(line, "blocks") {
			t.Errorf("the log has again: %s", line)
		}
	}
	if _, _, err := runCommand(t.Context(), "sequences", "-server", p.url, "-free", "s-0"); err != nil {
		t.Error(err)
	}
	if out, _, err := runCommand(t.Context(), "sequences", "-server", p.url); err != nil || out != "" {
		t.Errorf("%v\n%s", err, out)
	}
}

// A name that -free does not stand before is an error before anything is connected: it would stay.
func TestSequencesUsage(t *testing.T) {
	_, _, err := runCommand(t.Context(), "sequences", "-server", "nats://127.0.0.1:1", "-free", "a", "b")
	if !errors.As(err, new(command.UsageError)) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("got %v, want a usage error", err)
	}
}
