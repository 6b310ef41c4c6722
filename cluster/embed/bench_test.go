package embed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/attn-go/attn/cluster/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/encoder/minilmtest"
)

// benchJob is how many texts of BenchmarkWorkers are a job, so that workers end at about the
// same time.
const benchJob = 16

// BenchmarkWorkers embeds real passages with MiniLM: in this process alone, and by 1, 2 and 4
// workers, which are processes with one thread each. Compare texts/s.
func BenchmarkWorkers(b *testing.B) {
	folder, texts := minilmtest.Folder(b), slices.Repeat(minilmtest.Texts(b, "../../models/testdata/minilm"), 3)
	b.Run("alone", func(b *testing.B) {
		e, err := encoder.Load(folder, encoder.LoadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		e = e.With(encoder.Options{Exec: kernel.Exec{Threads: 1}})
		for b.Loop() {
			for at := 0; at < len(texts); at += benchJob {
				if _, err := e.Embed(b.Context(), texts[at:min(len(texts), at+benchJob)]); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "texts/s")
	})
	for _, n := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) { benchWorkers(b, folder, texts, n) })
	}
}

func benchWorkers(b *testing.B, folder string, texts []string, n int) {
	server := role{Kind: "server", Port: testutil.FreePort(), Store: b.TempDir()}
	start(b, server)
	url := fmt.Sprintf("nats://127.0.0.1:%d", server.Port)
	for range n {
		start(b, role{Kind: "worker", URL: url, Model: folder})
	}
	input := filepath.Join(b.TempDir(), "in.jsonl")
	f, err := os.Create(input)
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range texts {
		json.NewEncoder(f).Encode(text)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	c := Client{Conn: (&bench{url: url}).connect(b), Options: Options{
		Inputs: []string{input}, Output: filepath.Join(b.TempDir(), "out.npy"), JobTexts: benchJob,
	}}
	var took time.Duration
	for b.Loop() {
		s, err := c.Run(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		took += s.Took
	}
	b.ReportMetric(float64(b.N*len(texts))/took.Seconds(), "texts/s")
}

// BenchmarkWaiting has workers that only wait 100 ms for each job, a third of what MiniLM takes
// for 32 short texts on one core. It shows what handing jobs out leaves of more workers, also on a
// machine whose cores are busy.
func BenchmarkWaiting(b *testing.B) {
	server := role{Kind: "server", Port: testutil.FreePort(), Store: b.TempDir()}
	start(b, server)
	s := &bench{url: fmt.Sprintf("nats://127.0.0.1:%d", server.Port)}
	input := filepath.Join(b.TempDir(), "in.txt")
	const jobs = 64
	if err := os.WriteFile(input, bytes.Repeat([]byte("a b c\n"), jobs*DefaultJobTexts), 0o666); err != nil {
		b.Fatal(err)
	}
	running := 0
	for _, n := range []int{1, 2, 4, 8} {
		for ; running < n; running++ {
			start(b, role{Kind: "worker", URL: s.url, Model: tinyModel(), Delay: 100 * time.Millisecond})
		}
		c := Client{Conn: s.connect(b), Options: Options{Inputs: []string{input}, Output: filepath.Join(b.TempDir(), "out.npy")}}
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				s, err := c.Run(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				took += s.Took
			}
			b.ReportMetric(float64(b.N*jobs)/took.Seconds(), "jobs/s")
		})
	}
}
