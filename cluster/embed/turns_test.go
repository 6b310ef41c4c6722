//go:build unix

package embed

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTurns expects a run with few jobs to end long before one whose many jobs were in the queue first.
func TestTurns(t *testing.T) {
	t.Parallel()
	b := newBench(t, 20)
	long := newCorpus(t, b.url, 200)
	o := long.options()
	o.JobTexts, o.Window = 1, 200
	start(t, role{Kind: "client", URL: b.url, Options: o})
	q, err := newQueues(t.Context(), b.connect(t), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := b.role()
	r.Delay = 20 * time.Millisecond
	start(t, r)
	first := ""
	for first == "" {
		info, err := q.info(t.Context(), q.jobs, ">")
		if err != nil {
			t.Fatal(err)
		}
		for run, n := range countByRun(info) {
			if n > 150 {
				first = run
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	few := b.options()
	few.JobTexts = 1
	b.run(t, few)
	if n := left(t, q, first); n < 80 {
		t.Errorf("the long run has %d jobs left when the short one ends", n)
	}
}

// TestZeroedConsumers zeroes what the server has of consumers on its disk, in mid-run, as a power failure does. The run comes
// to its end.
func TestZeroedConsumers(t *testing.T) {
	t.Parallel()
	s := newStage(t, 300, 1, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run(t, s.options())
	}()
	time.Sleep(300 * time.Millisecond)
	s.running.kill()
	names, err := filepath.Glob(filepath.Join(s.server.Store, "jetstream", "*", "streams", "*", "obs", "*", "*.dat"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("zeroed: %v", names)
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil {
			err = os.WriteFile(name, make([]byte, info.Size()), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.running = start(t, s.server)
	<-done
}
