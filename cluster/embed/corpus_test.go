package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/embed/internal/corpus"
	"github.com/attn-go/attn/cluster/embed/internal/vectors"
	"github.com/attn-go/attn/cluster/hub"
	"github.com/attn-go/attn/cluster/relay"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/berttest"
	"github.com/attn-go/attn/models/server"
)

// outputs are the names of the files that a run writes.
var outputs = []string{"v.jsonl", "v.jsonl.rejected.jsonl"}

// tinyModel returns the folder of a small model, which all tests share.
var tinyModel = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "attn-tiny-bert")
	if err == nil {
		err = berttest.New("").Write(dir, "F32")
	}
	if err != nil {
		panic(err)
	}
	return dir
})

// A bench is a server, a corpus, and what one machine makes of it.
type bench struct {
	url   string
	dir   string // for the corpus and outputs
	input string
	want  map[string][]byte // by the names of outputs
}

// newBench starts a server in this process and makes a corpus of n texts.
func newBench(t *testing.T, n int) *bench {
	t.Helper()
	s, err := hub.Serve(t.Context(), hub.ServerConfig{Port: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return newCorpus(t, s.URL(), n)
}

// newCorpus makes a corpus of n texts, some of which cannot be embedded.
func newCorpus(t *testing.T, url string, n int) *bench {
	t.Helper()
	b := &bench{url: url, dir: t.TempDir()}
	b.input = filepath.Join(b.dir, "in.jsonl")
	r := rand.New(rand.NewPCG(1, 2))
	var lines bytes.Buffer
	for i := range n {
		switch {
		case i%97 == 13:
			lines.WriteString("{\"text\": \"\xff\"}\n")
		case i%97 == 50:
			lines.WriteString("{\"text\"\n")
		case i%97 == 77:
			fmt.Fprintf(&lines, "%q\n", strings.Repeat("a ", DefaultMaxText/2+1))
		case i%97 == 90: // the same text again and again
			lines.WriteString("\"a b c\"\n")
		default:
			text := make([]byte, r.IntN(14))
			for k := range text {
				text[k] = "abc  "[r.IntN(5)]
			}
			json.NewEncoder(&lines).Encode(map[string]any{"text": string(text), "id": i})
		}
	}
	if err := os.WriteFile(b.input, lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	b.want = b.expect(t, nil)
	return b
}

// add appends texts to the corpus.
func (b *bench) add(t *testing.T, texts ...string) {
	t.Helper()
	data, err := os.ReadFile(b.input)
	for _, text := range texts {
		data = fmt.Appendf(data, "%q\n", text)
	}
	if err == nil {
		err = os.WriteFile(b.input, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lastText is none of the texts that newCorpus makes.
const lastText = "c c c last"

// seeLast appends lastText, and starts a worker that calls saw with the context of the first
// request with it, before the answer. In a run with a Window of one or two jobs, all others but the
// last ones have their results then.
func (b *bench) seeLast(t *testing.T, saw func(ctx context.Context)) (stop func()) {
	t.Helper()
	b.add(t, lastText)
	b.want = b.expect(t, nil)
	var once sync.Once
	return b.work(t, "", func(s relay.Answerer) relay.Answerer {
		return &hooked{Answerer: s, sees: lastText, saw: func(ctx context.Context) { once.Do(func() { saw(ctx) }) }}
	})
}

// closed tells whether a channel is closed.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// expect returns the files that one encoder makes, each text by a call of its own. Texts in
// rejected have no vector, for the given reason.
func (b *bench) expect(t *testing.T, rejected map[string]string) map[string][]byte {
	t.Helper()
	e, err := encoder.Load(tinyModel(), encoder.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := corpus.Open([]string{b.input}, corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var rows []vectors.Row
	for {
		x, err := in.Next()
		if err != nil {
			break
		}
		row := vectors.Row{Source: x.Source, ID: x.ID, Reason: x.Reason}
		if reason, ok := rejected[x.Text]; ok && x.Reason == "" {
			row.Reason = reason
		}
		if row.Reason == "" {
			v, err := e.Embed(t.Context(), []string{x.Text})
			if err != nil {
				t.Fatal(err)
			}
			row.Vector = v[0]
		}
		rows = append(rows, row)
	}
	each := func(put func(vectors.Row) error) error {
		for _, r := range rows {
			if err := put(r); err != nil {
				return err
			}
		}
		return nil
	}
	want, dir := map[string][]byte{}, t.TempDir()
	for _, name := range outputs {
		path := filepath.Join(dir, name)
		if strings.Contains(name, "rejected") {
			err = vectors.WriteRejected(path, each)
		} else {
			err = vectors.Write(path, berttest.Width, int64(len(rows)), each)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want[name], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	return want
}

// options returns small jobs of the corpus.
func (b *bench) options() Options {
	return Options{Inputs: []string{b.input}, Output: filepath.Join(b.dir, outputs[0]), Overwrite: true, JobTexts: 8, Window: 16, Retry: time.Minute, Patience: time.Hour}
}

func (b *bench) connect(t testing.TB) *hub.Conn {
	t.Helper()
	conn, err := hub.Connect(t.Context(), hub.Config{URL: b.url, Wait: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// answerer returns a server of the tiny model. More of it are other models with the same weights,
// of other names.
func answerer(t testing.TB, folder, tier string, more ...string) *server.Server {
	t.Helper()
	x, err := kernel.TierNamed(tier)
	if err != nil {
		t.Fatal(err)
	}
	var list []*server.Model
	for _, name := range append([]string{"tiny"}, more...) {
		m, err := server.Load(folder, server.LoadOptions{Name: name, Exec: kernel.Exec{Tier: x, Threads: 1}})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	s, err := server.New(server.Settings{Logger: slog.New(slog.DiscardHandler)}, list...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// work runs a worker in this process until the test ends or stop is called. wrap may change its
// answers.
func (b *bench) work(t *testing.T, tier string, wrap func(relay.Answerer) relay.Answerer) (stop func()) {
	t.Helper()
	w := &relay.Worker{Conn: b.connect(t), Name: "w-" + tier, Server: answerer(t, tinyModel(), tier)}
	if wrap != nil {
		w.Server = wrap(w.Server)
	}
	ready := make(chan struct{})
	w.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	stop = func() {
		cancel()
		<-done
		done <- nil
	}
	t.Cleanup(stop)
	return stop
}

// slow makes a worker take longer for a job.
func slow(delay time.Duration) func(relay.Answerer) relay.Answerer {
	return func(s relay.Answerer) relay.Answerer { return &hooked{Answerer: s, delay: delay} }
}

// run runs a client and expects the files of one machine.
func (b *bench) run(t *testing.T, o Options) Summary {
	t.Helper()
	c := Client{Conn: b.connect(t), Options: o, Report: func(s string) { t.Log(s) }}
	summary, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.check(t)
	return summary
}

// check expects the files of one machine, and nothing else but the corpus. It removes them.
func (b *bench) check(t *testing.T) {
	t.Helper()
	for _, name := range outputs {
		path := filepath.Join(b.dir, name)
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, b.want[name]) {
			t.Errorf("%s: %d bytes of which some differ from one machine's %d (%v)", name, len(got), len(b.want[name]), err)
		}
		os.Remove(path)
	}
	if left, _ := os.ReadDir(b.dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}
