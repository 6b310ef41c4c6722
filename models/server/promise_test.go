package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/promptcache"
)

// What was sent to a path.
type sent struct{ path, body string }

// mix returns n requests of all kinds, of which many begin alike.
func mix(n int) (list []sent) {
	r := rand.New(rand.NewPCG(38, 1))
	words := func(n int) string {
		var b strings.Builder
		for range n {
			for range 1 + r.IntN(7) {
				b.WriteByte(byte('a' + r.IntN(26)))
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	systems := []string{words(20), words(40)}
	add := func(path string, body map[string]any) {
		data, err := json.Marshal(body)
		if err != nil {
			panic(err)
		}
		list = append(list, sent{path, string(data)})
	}
	sampling := func(body map[string]any) map[string]any {
		body["max_tokens"] = 1 + r.IntN(60)
		body["stream"] = r.IntN(3) == 0
		body["temperature"] = []float64{0, 0.7, 1.5}[r.IntN(3)]
		body["top_p"] = []float64{1, 0.9}[r.IntN(2)]
		body["frequency_penalty"] = []float64{0, 0.5}[r.IntN(2)]
		body["seed"] = r.IntN(1000)
		if r.IntN(4) == 0 {
			body["n"] = 3
		}
		if r.IntN(4) == 0 {
			body["stop"] = []string{"e", "th"}
		}
		return body
	}
	for range n {
		switch r.IntN(8) {
		case 0:
			add("/v1/embeddings", map[string]any{"model": embedModel, "input": []string{words(1 + r.IntN(8)), words(1 + r.IntN(8))}, "encoding_format": []string{"float", "base64"}[r.IntN(2)]})
		case 1:
			add("/v1/rerank", map[string]any{"model": rankModel, "query": words(3), "documents": []string{words(5), words(9), words(2)}})
		case 2, 3:
			body := sampling(map[string]any{"model": chatModel, "prompt": systems[r.IntN(2)] + words(r.IntN(5))})
			if r.IntN(2) == 0 {
				body["logprobs"] = 2
			}
			if r.IntN(3) == 0 {
				body["echo"] = true
			}
			add("/v1/completions", body)
		default:
			body := sampling(map[string]any{"model": chatModel, "messages": []map[string]string{{"role": "system", "content": systems[r.IntN(2)]}, {"role": "user", "content": words(r.IntN(10))}}})
			if r.IntN(3) == 0 {
				body["logprobs"], body["top_logprobs"] = true, 3
			}
			if r.IntN(6) == 0 {
				body["response_format"] = json.RawMessage(`{"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object", "properties": {"a": {"enum": ["x", "yes"]}, "b": {"type": "integer"}}, "required": ["a", "b"]}}}`)
			}
			add("/v1/chat/completions", body)
		}
	}
	return list
}

// ask returns the bodies of requests, of which so many run at once, in the order of list.
func ask(t *testing.T, h http.Handler, list []sent, order []int, atOnce int) []string {
	t.Helper()
	bodies := make([]string, len(list))
	next := make(chan int)
	var wait sync.WaitGroup
	for range atOnce {
		wait.Go(func() {
			for i := range next {
				w := post(h, list[i].path, list[i].body)
				if w.Code != http.StatusOK {
					t.Errorf("request %d, %s: status %d: %s", i, list[i].body, w.Code, w.Body)
				}
				bodies[i] = w.Body.String()
			}
		})
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	wait.Wait()
	return bodies
}

// TestBodiesDoNotDependOnLoad: the bodies of a mix of requests are the same alone, in any order,
// beside others, after preemption, in chunks of any length, on all tiers, with one thread and with
// several.
func TestBodiesDoNotDependOnLoad(t *testing.T) {
	n := 300
	if os.Getenv("ATTN_DEEP") != "" { // as .ci/step deep sets it
		n = 1000
	}
	if testing.Short() || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		n = 60
	}
	var list []sent
	others := dialects(n / 4)
	for i, r := range append(mix(n*3/4-n/6), toolMix(n/6)...) {
		if list = append(list, r); i%3 == 2 {
			list = append(list, others[i/3])
		}
	}
	inOrder := make([]int, n)
	for i := range inOrder {
		inOrder[i] = i
	}
	all := func(e kernel.Exec, page int) []*Model {
		return append(append(tinyModels(t, e, page), tooled(t, e, page)), vectorModels(t, e)...)
	}
	models := all(kernel.Exec{Threads: 1}, 16)
	want := ask(t, serverOf(t, fixed(), models...), list, inOrder, 1)
	type variant struct {
		name    string
		atOnce  int
		exec    kernel.Exec
		page    int
		change  func(*Settings)
		preempt bool
		drafts  bool
	}
	variants := []variant{
		{"32 at once", 32, kernel.Exec{Threads: 1}, 16, nil, false, false},
		{"2 threads, other pages", 8, kernel.Exec{Threads: 2}, 64, nil, false, false},
		{"preemption", 32, kernel.Exec{Threads: 1}, 16, func(s *Settings) { s.CacheBytes = 1 }, true, false},
		{"chunks of 5", 16, kernel.Exec{Threads: 1}, 16, func(s *Settings) { s.ChunkTokens, s.StepTokens, s.Running = 5, 11, 7 }, false, false},
	}
	for i := range variants[:3] {
		v := variants[i]
		v.name, v.drafts = v.name+", a draft model", true
		variants = append(variants, v)
	}
	folder, err := promptcache.OpenFolder(t.TempDir(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	saved := promptcache.New(folder, slog.New(slog.DiscardHandler))
	for _, name := range []string{"an empty prompt cache", "a prompt cache of another server"} {
		variants = append(variants, variant{name, 8, kernel.Exec{Threads: 1}, 16, func(s *Settings) { s.PromptCache = saved }, false, false})
	}
	for _, tier := range kernel.Tiers() {
		variants = append(variants, variant{"tier " + tier.String(), 8, kernel.Exec{Threads: 1, Tier: tier}, 16, nil, false, false})
	}
	for i, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			s := fixed()
			s.Grammars = 32
			if v.change != nil {
				v.change(&s)
			}
			served := all(v.exec, v.page)
			if v.drafts { // the model itself: most guesses are right where the most probable token is taken
				served[0].draft, served[0].guesses = generateOf(served[0]), 3
			}
			srv := serverOf(t, s, served...)
			part, order := list, r.Perm(n)
			if strings.HasPrefix(v.name, "tier") {
				part, order = list[max(0, n-100):], r.Perm(min(n, 100))
			}
			for i, got := range ask(t, srv, part, order, v.atOnce) {
				if i := i + n - len(part); got != want[i] {
					t.Fatalf("request %d, %s:\n%s\nwant\n%s", i, list[i].body, got, want[i])
				}
			}
			stats := srv.find(chatModel).(*generator).texts.Stats()
			if v.preempt && stats.Preempted == 0 {
				t.Errorf("nothing was preempted: %+v", stats)
			}
			if v.atOnce > 1 && stats.Shared == 0 {
				t.Errorf("nothing was shared: %+v", stats)
			}
			if v.drafts && stats.Right == 0 {
				t.Errorf("no guess was right: %+v", stats)
			}
			if want := strings.HasPrefix(v.name, "a prompt cache"); want && stats.Loaded == 0 {
				t.Errorf("nothing was loaded: %+v", stats)
			}
			if a, b := srv.Fingerprint(chatModel), fmt.Sprint(jsonField(t, want, "system_fingerprint")); a != b {
				t.Errorf("fingerprint %s, want %s", a, b)
			}
		})
	}
}

// jsonField returns a field of the first body of a chat that is no stream.
func jsonField(t *testing.T, bodies []string, name string) any {
	t.Helper()
	for _, b := range bodies {
		var fields map[string]any
		if json.Unmarshal([]byte(b), &fields) == nil && fields["object"] == "chat.completion" {
			return fields[name]
		}
	}
	t.Fatal("no body is that of a chat")
	return nil
}

// recorded is the SHA-256 of the bodies of the first requests of the mix. It changes with the
// contract, with answers in model.go, and with nothing else: it is the same on every architecture
// and tier.
const recorded = "a96358078fdd16eab8c78d651e7519bc839a7b54520056f87aa6545621a543f0"

// TestRecordedMix: the bodies are those that were recorded on another CPU.
func TestRecordedMix(t *testing.T) {
	list := append(mix(16), toolMix(8)...)
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	for _, tier := range []kernel.Tier{{}, kernel.Tiers()[len(kernel.Tiers())-1]} {
		e := kernel.Exec{Threads: 1, Tier: tier}
		srv := serverOf(t, fixed(), append(tinyModels(t, e, 16), tooled(t, e, 16))...)
		h := sha256.New()
		for _, body := range ask(t, srv, list, order, 8) {
			fmt.Fprintf(h, "%d %s\n", len(body), body)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != recorded {
			t.Errorf("tier %q: the bodies have the hash %s, want %s", tier, got, recorded)
		}
	}
}
