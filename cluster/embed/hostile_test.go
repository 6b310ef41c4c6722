package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attn-go/attn/cluster/embed/internal/wire"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/encoder"
)

var bertOptions = encoder.Options{Exec: kernel.Exec{Threads: 1}}

// answerTo sends a message as a job and returns the result.
func (b *bench) answerTo(t *testing.T, q *queues, n int64, data []byte, header nats.Header) *wire.Result {
	t.Helper()
	m, err := LoadModel(tinyModel(), bertOptions)
	if err != nil {
		t.Fatal(err)
	}
	subject := q.jobSubject(m.Digest, place{"hostile", n, 1})
	if _, err := q.js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Data: data, Header: header}); err != nil {
		t.Fatal(err)
	}
	results, err := q.js.Stream(t.Context(), q.results)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		msg, err := results.GetLastMsgForSubject(t.Context(), q.resultSubject(subject))
		if err == nil {
			r, err := wire.DecodeResult(msg.Data)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatal("no answer")
	return nil
}

// TestHostileJobs expects a worker to answer bad jobs with the reason, and to live on.
func TestHostileJobs(t *testing.T) {
	t.Parallel()
	b := newBenchOf(t, 50, 70<<10)
	b.work(t, "", nil)
	q, err := newQueues(t.Context(), b.connect(t), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadModel(tinyModel(), bertOptions)
	if err != nil {
		t.Fatal(err)
	}
	good := wire.Job{Model: m.Digest, Texts: []string{"a"}}
	data, _ := good.Encode()
	other := wire.Job{Texts: []string{"a"}}
	otherModel, _ := other.Encode()
	many := wire.Job{Model: m.Digest, Texts: make([]string, wire.MaxTexts)}
	tooMany, _ := many.Encode()
	own := nats.Header{hub.VersionHeader: {hub.Own.String()}}
	next := hub.Own
	next.Contract++
	for i, c := range []struct {
		name   string
		data   []byte
		header nats.Header
		want   string
	}{
		{"empty", nil, own, "no job, want"},
		{"truncated", data[:len(data)-1], own, "no job, want"},
		{"a large one", make([]byte, 70<<10-1000), own, "no job, want"},
		{"no version", data, nil, ": version 0.0"},
		{"another contract", data, nats.Header{hub.VersionHeader: {next.String()}}, ": version " + next.String()},
		{"vectors that no message holds", tooMany, own, "the job has 1024 texts"},
		{"another model", otherModel, own, "the job is for the model 0000"},
	} {
		r := b.answerTo(t, q, int64(i), c.data, c.header)
		if r.Status != wire.Refused || !strings.Contains(r.Reason, c.want) {
			t.Errorf("%s: got %+v, want a refusal with %q", c.name, r, c.want)
		}
	}
	if r := b.answerTo(t, q, 99, data, own); r.Status != wire.Done {
		t.Errorf("a good job: got %+v", r)
	}
	b.run(t, b.options())
}

// broken is a model that gives vectors which are none.
type broken struct {
	Embedder
	give func(v [][]float32) [][]float32
}

func (b *broken) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	v, err := b.Embedder.Embed(ctx, texts)
	return b.give(v), err
}

// TestBrokenModel expects texts to be rejected whose vectors are none.
func TestBrokenModel(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]func(v [][]float32) [][]float32{
		"too few": func(v [][]float32) [][]float32 { return v[1:] },
		"short":   func(v [][]float32) [][]float32 { v[0] = v[0][1:]; return v },
		"NaN":     func(v [][]float32) [][]float32 { v[0][3] = float32(math.NaN()); return v },
	} {
		b := newBench(t, 8)
		b.work(t, "", func(w *Worker) { w.Model.Embedder, w.Deliveries, w.Report = &broken{w.Model.Embedder, give}, 1, nil })
		c := Client{Conn: b.connect(t), Options: b.options()}
		if s, err := c.Run(t.Context()); err != nil || s.Rejected != 8 || s.Split != 1 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// TestHostileResults floods a client with results that are none of its own, on the subjects
// of its jobs, and expects the right files.
func TestHostileResults(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: it takes seconds")
	}
	t.Parallel()
	b := newBench(t, 300)
	b.work(t, "", slow(5*time.Millisecond))
	q, err := newQueues(t.Context(), b.connect(t), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	flood.Go(func() {
		forged := &wire.Result{Width: 24, Values: [][]float32{make([]float32, 24)}}
		for i := 0; ctx.Err() == nil; i++ {
			sub, err := q.js.Stream(ctx, q.jobs)
			if err != nil {
				return
			}
			info, err := sub.Info(ctx)
			if err != nil || info.State.Msgs == 0 {
				continue
			}
			msg, err := sub.GetMsg(ctx, info.State.FirstSeq)
			if err != nil {
				continue
			}
			data := [][]byte{nil, []byte("junk"), forged.Encode(), make([]byte, 1000)}[i%4]
			q.publish(ctx, q.resultSubject(msg.Subject), data)
			pause(ctx, 20*time.Millisecond)
		}
	})
	b.run(t, b.options())
	cancel()
	flood.Wait()
}

// TestHostileInfo expects a client to ignore answers that no worker of its version gives.
func TestHostileInfo(t *testing.T) {
	t.Parallel()
	b := newBench(t, 20)
	conn := b.connect(t)
	sub, err := conn.Subscribe(conn.Subject("embed", infoToken), func(msg *nats.Msg) {
		for _, text := range []string{"", "{", `{"model":"ab","width":24}`, fmt.Sprintf(`{"model":"%064d","width":-1}`, 0), fmt.Sprintf(`{"model":"%064d","width":9}`, 0)} {
			answer := &nats.Msg{Subject: msg.Reply, Data: []byte(text)}
			if !strings.HasSuffix(text, `9}`) {
				hub.Stamp(answer)
			}
			conn.PublishMsg(answer)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	b.work(t, "", nil)
	b.run(t, b.options())
}

// oneJob returns a window with one job of two texts.
func oneJob() (*window, *part) {
	w := &window{run: "r", width: 1, parts: map[string]*part{}}
	return w, w.add(batch{entries: twoEntries(), texts: []string{"a", "b"}})
}

// TestDifference expects an error if two results of a job have different bits, and none if
// they are the same.
func TestDifference(t *testing.T) {
	t.Parallel()
	w, p := oneJob()
	result := wire.Result{Job: p.hash, Width: 1, Values: [][]float32{{1}, {2}}}
	for range 2 {
		if send, err := w.accept(p.place.String(), result.Encode()); err != nil || send != nil {
			t.Fatalf("got %v, %v", send, err)
		}
	}
	result.Values[1][0] = 3
	if _, err := w.accept(p.place.String(), result.Encode()); !errors.Is(err, ErrDifference) || !strings.HasPrefix(err.Error(), "embed: record 1: ") {
		t.Errorf("got %v, want one of a difference of record 1", err)
	}
}

// TestRefused expects the error of a refused job.
func TestRefused(t *testing.T) {
	t.Parallel()
	w, p := oneJob()
	result := wire.Result{Job: p.hash, Status: wire.Refused, Reason: "no"}
	if _, err := w.accept(p.place.String(), result.Encode()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), ": no, want ") {
		t.Errorf("got %v, want one of a refused job", err)
	}
}
