//go:build unix

package embed

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/embed/internal/wire"
)

// abandon has a client in a process of its own put jobs into the queue, and kills it. It returns the stream's run.
func (b *bench) abandon(t *testing.T, q *queues) string {
	t.Helper()
	o := b.options()
	o.Outputs = []string{filepath.Join(t.TempDir(), "dead.npy")}
	o.JobTexts, o.Window = 1, 64
	p := start(t, role{Kind: "client", URL: b.url, Options: o})
	defer p.kill()
	for t.Context().Err() == nil {
		if info, err := q.info(t.Context(), q.jobs, ">"); err == nil && info.State.Msgs >= 40 {
			for run := range countByRun(info) {
				return run
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return ""
}

// left returns how many messages both queues have of a run.
func left(t *testing.T, q *queues, run string) (n uint64) {
	t.Helper()
	for _, stream := range []string{q.jobs, q.results} {
		info, err := q.info(t.Context(), stream, ">")
		if err != nil {
			t.Fatal(err)
		}
		n += countByRun(info)[run]
	}
	return n
}

// TestDeadClient kills a client whose jobs fill the queue of results. Another one gets to its end, as what the
// first one has left is dropped; what a living client has in the queues is not.
func TestDeadClient(t *testing.T) {
	t.Parallel()
	b := newBench(t, 200)
	limits := Limits{ResultsBytes: 6000}
	change := func(w *Worker) {
		slow(20 * time.Millisecond)(w)
		w.Limits, w.Lease = limits, 300*time.Millisecond
	}
	b.work(t, "", change)
	q, err := newQueues(t.Context(), b.connect(t), limits)
	if err != nil {
		t.Fatal(err)
	}
	dead := b.abandon(t, q)
	if _, err := q.conn.Hold("alive"); err != nil {
		t.Fatal(err)
	}
	if err := q.publish(t.Context(), q.conn.Subject("embed", resultsToken, "alive", "0-1"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	o := b.options()
	o.Limits = limits
	b.run(t, o)
	for left(t, q, dead) > 0 { // ends with the test: how long that takes is not for the test to say
		time.Sleep(20 * time.Millisecond)
	}
	if left(t, q, "alive") != 1 {
		t.Error("what a living client has in the queue was dropped")
	}
}

// TestWhoseQueue expects that a client that makes no progress says whose results fill the queue, and so does
// the worker.
func TestWhoseQueue(t *testing.T) {
	t.Parallel()
	b := newBench(t, 50)
	limits := Limits{ResultsBytes: 3000}
	reports := make(chan string, 1000)
	b.work(t, "", func(w *Worker) {
		w.Limits, w.Lease = limits, -1
		w.Report = func(s string) {
			select {
			case reports <- s:
			default:
			}
		}
	})
	q, err := newQueues(t.Context(), b.connect(t), limits)
	if err != nil {
		t.Fatal(err)
	}
	full := &wire.Result{Status: wire.Failed, Reason: strings.Repeat("x", 400)}
	for i := 0; q.publish(t.Context(), q.conn.Subject("embed", resultsToken, "other", fmt.Sprintf("%d-1", i)), full.Encode()) == nil; i++ {
	}
	o := b.options()
	o.Limits, o.Patience = limits, 2*time.Second
	_, err = (&Client{Conn: b.connect(t), Options: o}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "messages of run other") {
		t.Errorf("the client says %v", err)
	}
	for s := range reports {
		if strings.Contains(s, "maximum bytes exceeded") && strings.Contains(s, "messages of run other") {
			break
		}
	}
}
