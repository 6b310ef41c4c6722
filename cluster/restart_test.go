//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/shard"
)

// statusOf returns what status says of so many workers of attention, which are all that there are:
// on a busy machine a search may miss some, and others may be late.
func statusOf(t testing.TB, url string, workers int) *status {
	t.Helper()
	x := &status{}
	untilSays(t, func(out string) bool {
		*x = status{}
		if err := json.Unmarshal([]byte(out), x); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		late := func(w shard.WorkerReport) bool { return w.Error != "" }
		return len(x.Workers) == workers && !slices.ContainsFunc(x.Workers, late)
	}, "status", "-json", "-server", url)
	return x
}

// untilSays runs a command until it ends well and enough holds of its output, which it returns.
func untilSays(t testing.TB, enough func(out string) bool, args ...string) string {
	t.Helper()
	var said string
	for range attempts {
		out, report, err := runCommand(t.Context(), args...)
		if err == nil && enough(out) {
			return out
		}
		said = fmt.Sprintf("%v\n%s%s", err, out, report)
	}
	t.Fatalf("%q: %s", args, said)
	return ""
}

// has returns a function that tells whether an output has all texts.
func has(texts ...string) func(out string) bool {
	return func(out string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(out, text) })
	}
}

// list returns what the directory has: on a busy machine an entry may take longer than it may.
func list(t testing.TB, conn *hub.Conn) []shard.Info {
	t.Helper()
	var all []shard.Info
	for range attempts {
		var err error
		if all, err = shard.List(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		late := func(i shard.Info) bool { return errors.Is(i.Err, context.DeadlineExceeded) }
		if !slices.ContainsFunc(all, late) {
			return all
		}
	}
	t.Fatalf("%+v", all)
	return nil
}

// untilRepaired waits until status says that all blocks have their copies on so many workers. It
// ends with the test: how long that takes is not for the test to say.
func untilRepaired(t testing.TB, url string, workers int) {
	t.Helper()
	for {
		x, whole := statusOf(t, url, workers), true
		for _, s := range x.Sequences {
			if s.Held.Lost > 0 {
				t.Fatalf("%+v", x)
			}
			whole = whole && s.Held.Lacking == 0 && s.Held.Least == s.Replicas
		}
		if whole && len(x.Sequences) > 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// A worker crashes and starts again under its name before anybody misses it, as systemd does it. It
// has lost its blocks, which the others copy, so that another crash loses nothing.
func TestRestartUnderTheSameName(t *testing.T) {
	t.Parallel()
	p := startProcesses(t)
	work := func(name string) {
		p.workers[name], _ = startProcess(t, "waits for", "work", "-name", name, "-server", p.url, "-repair", "2s")
	}
	for _, name := range []string{"a", "b", "c"} {
		work(name)
	}
	p.attendNamed(2)
	for _, name := range []string{"a", "b", "c"} {
		p.workers[name].kill()
		work(name)
		untilRepaired(t, p.url, 3)
	}
	p.attendNamed(2)
	untilSays(t, has("on 2 of 2 workers"), "sequences", "-server", p.url)
}
