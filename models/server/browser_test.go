package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// held answers requests that have the word "hold" with a part of an answer that never goes on.
func held(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(body, []byte("hold")) {
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
			return
		}
		fmt.Fprint(w, "data: {\"system_fingerprint\": \"fp\", \"choices\": [{\"delta\": {\"content\": \"part\"}, \"finish_reason\": null}]}\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// TestPageInBrowser: the page converses, searches and shows the models, in a browser, with the answers of the
// API.
func TestPageInBrowser(t *testing.T) {
	s := newServer(t, fixed())
	web := httptest.NewServer(held(s))
	defer web.Close()
	b := newBrowser(t, web.URL)
	t.Run("chat", func(t *testing.T) { b.t = t; b.chat(s) })
	t.Run("search", func(t *testing.T) { b.t = t; b.search(s) })
	t.Run("models", func(t *testing.T) { b.t = t; b.facts(s) })
	t.Run("keyboard", func(t *testing.T) { b.t = t; b.keyboard() })
	t.Run("colors", func(t *testing.T) { b.t = t; b.colors() })
	t.Run("phone", func(t *testing.T) { b.t = t; b.phone() })
	b.check()
}

// chat: an answer comes in parts and is that of the API; Escape stops one.
func (b *browser) chat(s *Server) {
	b.run(`window.changes = 0; new MutationObserver((list) => changes += list.filter((m) => m.target.classList.contains("formed")).length).observe(document.getElementById("log"), {subtree: true, childList: true})`)
	b.run(`document.getElementById("settings").open = true`)
	b.set("most", "30")
	b.set("seed", "7")
	b.write("say", "One")
	b.press("Enter", true)
	b.write("say", "two")
	if got := evaluate[string](b, `document.getElementById("say").value`); got != "One\ntwo" {
		b.t.Errorf("Shift and Enter between One and two make %q", got)
	}
	b.press("Enter")
	b.until(`document.querySelectorAll(".turn.assistant .about").length === 1`)
	var want struct {
		Choices []struct{ Message struct{ Content string } }
	}
	body := `{"model": "tiny", "messages": [{"role": "user", "content": "One\ntwo"}], "max_tokens": 30, "seed": 7}`
	want = answerOf[struct {
		Choices []struct{ Message struct{ Content string } }
	}](b.t, post(s, "/v1/chat/completions", body))
	if got := evaluate[string](b, `document.querySelector(".turn.assistant .text").dataset.text`); got != want.Choices[0].Message.Content || got == "" {
		b.t.Errorf("the page shows %q, the API answers %q", got, want.Choices[0].Message.Content)
	}
	if n := evaluate[int](b, "changes"); n < 3 {
		b.t.Errorf("the answer came in %d parts", n)
	}
	if about := evaluate[string](b, `document.querySelector(".about").textContent`); !strings.Contains(about, s.Fingerprint(chatModel)) || !strings.Contains(about, "30 tokens") {
		b.t.Errorf("below the answer is %q, want the fingerprint and 30 tokens", about)
	}
	b.write("say", "hold")
	b.press("Enter")
	b.until(`[...document.querySelectorAll(".turn.assistant .text")].at(-1).textContent === "part"`)
	b.press("Escape")
	b.until(`document.querySelectorAll(".turn.assistant .about").length === 2`)
	if about := evaluate[string](b, `[...document.querySelectorAll(".about")].at(-1).textContent`); !strings.HasPrefix(about, "stopped") {
		b.t.Errorf("below an answer that Escape ended is %q", about)
	}
	b.click("chat-new")
	if n := evaluate[int](b, `document.getElementById("log").childElementCount`); n != 0 {
		b.t.Errorf("a new chat has %d messages", n)
	}
}

// search: the passages stand in the order of their scores, which are those of the API.
func (b *browser) search(s *Server) {
	passages := []string{"the cat sat on a mat", "a dog runs", "it rains"}
	query := "a cat"
	b.click("to-search")
	b.shown("view-search")
	b.set("split", "line")
	b.set("corpus", strings.Join(passages, "\n\n"))
	wants := map[string]map[string]float64{embedModel: {}, rankModel: {}}
	data, err := json.Marshal(map[string]any{"model": embedModel, "input": append([]string{query}, passages...)})
	if err != nil {
		b.t.Fatal(err)
	}
	vectors := answerOf[struct {
		Data []struct{ Embedding []float64 }
	}](b.t, post(s, "/v1/embeddings", string(data))).Data
	dot := func(i, k int) (sum float64) {
		for n, x := range vectors[i].Embedding {
			sum += x * vectors[k].Embedding[n]
		}
		return sum
	}
	for i, p := range passages {
		wants[embedModel][p] = dot(0, i+1) / math.Sqrt(dot(0, 0)*dot(i+1, i+1))
	}
	if data, err = json.Marshal(map[string]any{"model": rankModel, "query": query, "documents": passages}); err != nil {
		b.t.Fatal(err)
	}
	for _, r := range answerOf[struct {
		Results []struct {
			Index int
			Score float64 `json:"relevance_score"`
		}
	}](b.t, post(s, "/v1/rerank", string(data))).Results {
		wants[rankModel][passages[r.Index]] = r.Score
	}
	for model, want := range wants {
		b.set("search-model", model)
		b.set("query", "")
		b.write("query", query)
		b.press("Enter")
		b.until(`document.getElementById("search-state").textContent.includes("` + s.Fingerprint(model) + `")`)
		last := math.Inf(1)
		shown := evaluate[[][2]string](b, `[...document.querySelectorAll("#results li")].map((li) => [li.querySelector(".score").textContent, li.querySelector(".text").textContent])`)
		for _, r := range shown {
			score, err := strconv.ParseFloat(r[0], 64)
			if err != nil || math.Abs(score-want[r[1]]) > 1e-4 || score > last {
				b.t.Errorf("%s: %q has the score %s after %v, want %v", model, r[1], r[0], last, want[r[1]])
			}
			last = score
		}
		if len(shown) != len(passages) {
			b.t.Errorf("%s: %d passages, want %d", model, len(shown), len(passages))
		}
	}
}

// facts: all models are there, with their fingerprints.
func (b *browser) facts(s *Server) {
	b.click("to-models")
	b.shown("view-models")
	text := evaluate[string](b, `document.getElementById("models").innerText`)
	for _, name := range []string{chatModel, embedModel, rankModel} {
		if !strings.Contains(text, name) || !strings.Contains(text, s.Fingerprint(name)) {
			b.t.Errorf("the page does not show %s with its fingerprint: %s", name, text)
		}
	}
}

// keyboard: Tab and Enter lead to every view, and what has the focus can be seen.
func (b *browser) keyboard() {
	for _, view := range []string{"chat", "search", "models"} {
		b.run(`document.activeElement.blur(); getSelection().removeAllRanges(); document.querySelector(".mark").focus()`)
		for n := 0; evaluate[string](b, "document.activeElement.id") != "to-"+view; n++ {
			if n == 10 {
				b.t.Fatalf("Tab does not lead to the view %s", view)
			}
			b.press("Tab")
		}
		if width := evaluate[string](b, `getComputedStyle(document.activeElement).outlineStyle`); width == "none" {
			b.t.Errorf("the link to %s does not show that it has the focus", view)
		}
		b.press("Enter")
		b.until(`!document.getElementById("view-` + view + `").hidden`)
	}
}

// colors: text stands out in light and dark, which differ.
func (b *browser) colors() {
	light := map[string][2]float64{}
	for _, scheme := range []string{"light", "dark"} {
		b.do("Emulation.setEmulatedMedia", object{"features": []object{{"name": "prefers-color-scheme", "value": scheme}}})
		light[scheme] = evaluate[[2]float64](b, `(() => {
			const of = (color) => {
				const c = document.createElement("canvas").getContext("2d");
				c.fillStyle = color;
				c.fillRect(0, 0, 1, 1);
				const [r, g, b] = [...c.getImageData(0, 0, 1, 1).data].map((x) => (x / 255) ** 2.2);
				return 0.2126 * r + 0.7152 * g + 0.0722 * b;
			};
			const root = getComputedStyle(document.documentElement).backgroundColor, body = getComputedStyle(document.body);
			return [of(/, 0\)$/.test(body.backgroundColor) ? root : body.backgroundColor), of(body.color)];
		})()`)
		ground, text := light[scheme][0], light[scheme][1]
		if contrast := (max(ground, text) + 0.05) / (min(ground, text) + 0.05); contrast < 7 || (ground > text) != (scheme == "light") {
			b.t.Errorf("%s: the ground has the luminance %.3f, the text %.3f", scheme, ground, text)
		}
	}
}

// phone: at the width of a phone nothing is cut off at the side.
func (b *browser) phone() {
	b.do("Emulation.setDeviceMetricsOverride", object{"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true})
	for _, view := range []string{"chat", "search", "models"} {
		b.run(`location.hash = "` + view + `"`)
		b.until(`!document.getElementById("view-` + view + `").hidden`)
		for _, e := range evaluate[[]string](b, `[...document.querySelectorAll("body, main, a, button, input, select, textarea, li, h1")].filter((e) => e.checkVisibility() && !e.closest(".unseen") && (e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0)).map((e) => e.tagName + " " + e.id)`) {
			b.t.Errorf("%s: %s does not fit the width", view, e)
		}
		if n := evaluate[int](b, "document.documentElement.scrollWidth"); n > 360 {
			b.t.Errorf("%s: the page is %d wide", view, n)
		}
	}
}

// TestPageWantsKey: the page asks for a key, refuses a wrong one, and goes on with the right one.
func TestPageWantsKey(t *testing.T) {
	settings := fixed()
	settings.Keys = []Key{{"a", "secret-of-a-long-enough"}}
	web := httptest.NewServer(newServer(t, settings))
	defer web.Close()
	b := newBrowser(t, web.URL)
	b.shown("key")
	b.write("key", "wrong")
	b.press("Enter")
	b.until(`document.getElementById("problem").textContent.includes("not accepted")`)
	b.write("key", settings.Keys[0].Secret)
	b.press("Enter")
	b.shown("view-chat")
	b.check("401")
}
