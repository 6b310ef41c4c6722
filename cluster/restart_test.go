//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// statusOf returns what status says.
func statusOf(t testing.TB, url string) *status {
	t.Helper()
	out, report, err := runCommand(t.Context(), "status", "-json", "-server", url)
	x := &status{}
	if err == nil {
		err = json.Unmarshal([]byte(out), x)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	return x
}

// untilRepaired waits until status says that all blocks have their copies. It ends with the test:
// how long that takes is not for the test to say.
func untilRepaired(t testing.TB, url string) {
	t.Helper()
	for {
		x, whole := statusOf(t, url), true
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
		untilRepaired(t, p.url)
	}
	p.attendNamed(2)
	if out, _, err := runCommand(t.Context(), "sequences", "-server", p.url); err != nil || !strings.Contains(out, "on 2 of 2 workers") {
		t.Errorf("%v\n%s", err, out)
	}
}
