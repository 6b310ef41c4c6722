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

// shownParts are an answer with all that the page shows.
var shownParts = []object{
	{"reasoning_content": "first **this**"}, {"content": "# A <b>title</b>\n\nSome **bold** and `code`, <img src=x onerror=\"window.bad = 1\">\n"},
	{"content": "\n```go\nfor x := range <-y {\n}\n```\n\n- one\n- [two](https://example.org)\n- [three](javascript:bad)\n\n| a | b |\n|---|---|\n| 1 | <i>2</i> |\n"},
	{"tool_calls": []object{{"index": 0, "id": "call_0", "type": "function", "function": object{"name": "look", "arguments": ""}}}},
	{"tool_calls": []object{{"index": 0, "function": object{"arguments": "{\"at\": \"<u>x"}}}}, {"tool_calls": []object{{"index": 0, "function": object{"arguments": "</u>\"}"}}}},
	{"tool_calls": []object{{"index": 1, "id": "call_1", "type": "function", "function": object{"name": "now", "arguments": "{}"}}}},
}

// held answers requests that have the word "hold" with a part of an answer that never goes on, and
// those whose last word is "form" with shownParts.
func held(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte(`"form"}],"tools"`)) {
			for i, delta := range append(shownParts, object{}) {
				choice := object{"delta": delta, "finish_reason": nil}
				if i == len(shownParts) {
					choice["finish_reason"] = "tool_calls"
				}
				data, _ := json.Marshal(object{"system_fingerprint": "fp", "choices": []object{choice}}) // it comes from literals
				fmt.Fprintf(w, "data: %s\n\n", data)
			}
			fmt.Fprint(w, "data: [DONE]\n\n")
			return
		}
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

// TestPageInBrowser: the page converses, searches and shows the models, in a browser, with the
// answers of the API.
func TestPageInBrowser(t *testing.T) {
	s := newServer(t, fixed())
	web := httptest.NewServer(held(s))
	defer web.Close()
	b := newBrowser(t, web.URL)
	t.Run("chat", func(t *testing.T) { b.t = t; b.chat(s) })
	t.Run("formed", func(t *testing.T) { b.t = t; b.formed() })
	t.Run("search", func(t *testing.T) { b.t = t; b.search(s) })
	t.Run("windows", func(t *testing.T) { b.t = t; b.windows() })
	t.Run("models", func(t *testing.T) { b.t = t; b.facts(s) })
	t.Run("keyboard", func(t *testing.T) { b.t = t; b.keyboard() })
	t.Run("colors", func(t *testing.T) { b.t = t; b.colors() })
	t.Run("phone", func(t *testing.T) { b.t = t; b.phone() })
	b.t = t
	b.check("/v1/embeddings") // which refuses what is too long
}

// chat: an answer comes in parts and equals the API's; Escape stops one.
func (b *browser) chat(s *Server) {
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

// formed: an answer is shown as Markdown, its thinking folded, its calls with their arguments, and
// each call asks for its result. Nothing of it is HTML.
func (b *browser) formed() {
	b.set("tools", `[{"name": "look"}, {"name": "now"}]`)
	b.write("say", "form")
	b.press("Enter")
	b.until(`document.querySelectorAll(".turn.assistant .about").length === 1`)
	for expression, want := range map[string]string{
		`of("h3").textContent`: "A <b>title</b>",
		`of("p strong").textContent + of("p > code").textContent`:                                                "boldcode",
		`of("pre code").textContent + of("pre code").lang`:                                                       "for x := range <-y {\n}go",
		`[...body.querySelectorAll("li")].map((e) => e.textContent + (e.querySelector("a")?.href ?? "")).join()`: "one,twohttps://example.org/,[three](javascript:bad)",
		`[...body.querySelectorAll("td")].map((e) => e.textContent).join()`:                                      "1,<i>2</i>",
		`[...body.querySelectorAll(".call")].map((e) => e.textContent).join(";")`:                                "look{\n  \"at\": \"<u>x</u>\"\n};now{}",
		`of(".thought").open + " " + of(".thought .plain").checkVisibility()`:                                    "false false",
		`of(".thought .plain").textContent`:                                                                      "first **this**",
		`body.querySelectorAll("img, script, b, i, u").length + " " + window.bad`:                                "0 undefined",
		`document.getElementById("say").placeholder`:                                                             "Result of look",
	} {
		if got := evaluate[string](b, `(() => { const body = document.querySelector(".turn.assistant .text"), of = (s) => body.querySelector(s); return `+expression+`; })()`); got != want {
			b.t.Errorf("%s is %q, want %q", expression, got, want)
		}
	}
	b.run(`document.querySelector(".thought summary").click()`)
	b.until(`document.querySelector(".thought .plain").checkVisibility()`)
	b.write("say", "it is there")
	b.press("Enter")
	b.until(`document.getElementById("say").placeholder === "Result of now"`)
	b.set("tools", "")
	b.click("chat-new")
}

// windows: a passage that is longer than the model reads is cut into windows, which are found.
func (b *browser) windows() {
	b.set("search-model", embedModel)
	b.set("split", "paragraph")
	b.set("corpus", strings.Repeat("the cat sat on a mat ", 200)+"\n\na dog runs")
	b.set("query", "")
	b.write("query", "a dog runs")
	b.press("Enter")
	b.until(`document.getElementById("results").childElementCount > 2`)
	if best := evaluate[string](b, `document.querySelector("#results li .text").textContent`); best != "a dog runs" {
		b.t.Errorf("the best passage is %q", best)
	}
	if state := evaluate[string](b, `document.getElementById("search-problem").textContent`); state != "" {
		b.t.Error(state)
	}
}

// search: the passages stand in the order of their scores, which equal the API's.
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
