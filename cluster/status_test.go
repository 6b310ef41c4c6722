//go:build unix

package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
	"github.com/attn-go/attn/kernel"
)

// TestStatus expects that status has the worker, what it holds and for whom, as JSON and as text.
func TestStatus(t *testing.T) {
	p := startProcesses(t, "a")
	conn, err := hub.Connect(t.Context(), hub.Config{URL: p.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	client, err := shard.New(t.Context(), conn, shard.Config{Heads: 1, HeadSize: 2})
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
	say := func(args ...string) string {
		var out strings.Builder
		if err := run(t.Context(), streams{nil, &out, io.Discard}, append([]string{"status", "-server", p.url}, args...)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	var got status
	if err := json.Unmarshal([]byte(say("-json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != hub.Own.String() || len(got.Workers) != 1 || len(got.Sequences) != 1 || got.Sequences[0] != (sequenceStatus{"text", 600, 1, 2, "", shard.Copies{Least: 1}}) {
		t.Fatalf("%+v", got)
	}
	w := got.Workers[0]
	if w.Name != "a" || !strings.HasPrefix(w.ID, "a-") || w.Error != "" || len(w.Holds) != 1 || w.Holds[0].For != "sequence text" || w.Holds[0].Blocks != 3 || w.Holds[0].Bytes != w.Used {
		t.Errorf("%+v", w)
	}
	text := say()
	for _, line := range []string{"worker " + w.ID + ": version " + hub.Own.String(), "  for sequence text: 3 blocks", "sequence text: 600 keys, each block on 1 of 2 workers"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q lacks %q", text, line)
		}
	}
	// An empty worker takes the name of the one that held all.
	p.workers["a"].kill()
	p.work("a", p.url)
	if text := say(); !strings.Contains(text, "each block on 0 of 2 workers at least, 3 BLOCKS LOST") {
		t.Error(text)
	}
}
