package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
	"golang.org/x/net/html"
)

// hostile is a name that would do harm if it were not escaped.
const hostile = `EPYC <script>document.title="broken"</script><img src=x onerror=document.title="broken"> & "7" ` + "`${1}`"

// example returns a file with some rows of everything. Its numbers depend on the seed.
func example(seed float64) *results.File {
	x := func(v float64) float64 { return v * (1 + seed/7) }
	t := func(ns float64) results.Timing {
		return results.Timing{Ns: x(ns), Q1: x(ns) * 0.9, Q3: x(ns) * 1.1, Samples: 12}
	}
	speed := func(shape, alias, tier string, threads int, ns float64) results.Speed {
		return results.Speed{Shape: shape, Alias: alias, Input: "input of " + shape, Tier: tier, Threads: threads, Timing: t(ns),
			Flops: 1e6, Bytes: 1e4, GFLOPs: 1e6 / x(ns), Peak: 100, Percent: 1e6 / x(ns), SHA256: strings.Repeat("ab", 32)}
	}
	steal := 3.5
	return &results.File{Format: results.Format, Schema: results.Schema, Contract: 2, Date: "2026-01-02T03:04:05Z", Note: "a note " + hostile,
		Build:      results.Build{Go: "go1.26.0", GOOS: "linux", GOARCH: "amd64", Commit: "0123456789abcdef"},
		Machine:    results.Machine{CPU: hostile, CPUs: 2, GOMAXPROCS: 2, L1D: 32 << 10, L2: 1 << 20, L3: 32 << 20, StealPercent: &steal},
		Tiers:      []results.Tier{{Name: "avx2", Runs: true, Default: true}, {Name: "generic", Runs: true}},
		Peaks:      []results.Peak{{Vectors: "avx2", Threads: 1, GFLOPs: x(100)}, {Vectors: "avx2", Threads: 2, GFLOPs: x(120)}},
		Bandwidths: []results.Bandwidth{{Level: "L1", Threads: 1, GBs: x(150)}, {Level: "memory", Threads: 1, GBs: x(12)}},
		Checks: []results.Check{{Name: "layer1", Input: hostile, Hashes: []results.Hash{{Tier: "avx2", Threads: 1, SHA256: strings.Repeat("cd", 32)}, {Tier: "generic", Threads: 1, SHA256: strings.Repeat("cd", 32)}},
			Error: results.Error{Max: 1e-6, RMS: 1e-7}, PyTorch: results.Error{Max: 2e-6, RMS: 1.5e-7}}},
		Speed:   []results.Speed{speed("prefill", "A", "avx2", 1, 12345.678901), speed("prefill", "A", "avx2", 2, 7000), speed("decode", "C", "avx2", 1, 50000), speed("decode", "C", "generic", 1, 900000)},
		Options: []results.Option{{Shape: "E", Input: "big", Option: "causal", Tier: "avx2", Plain: x(10), With: x(6), Share: 0.5, Cost: 20}, {Shape: "A", Input: "small", Option: "ALiBi", Tier: "avx2", Plain: 10, With: 9, Cost: -3.25}},
		Linear: []results.Linear{{Rows: 128, Inputs: 768, Outputs: 768, Weights: "Q8_0", Tier: "avx2", Threads: 1, Timing: t(1e6), Limit: results.LimitPeak, Rate: 88, LimitRate: 99, Percent: 88.9},
			{Rows: 128, Inputs: 768, Outputs: 768, Weights: "float32", Tier: "avx2", Threads: 1, Timing: t(2e6), Limit: results.LimitPeak, Rate: 44, LimitRate: 99, Percent: 44.4},
			{Rows: 128, Inputs: 768, Outputs: 768, Weights: "Q8_0 × int8", Int8: true, Tier: "avx2", Threads: 1, Timing: t(5e5), Limit: results.LimitPeak, Rate: 176, LimitRate: 99, Percent: 177.8}},
		Backward: []results.Backward{{Shape: "prefill", Alias: "A", Input: "input", Tier: "avx2", Threads: 1, Timing: t(3e4), Flops: 2.5e6, GFLOPs: x(80), Peak: 100, Percent: x(80), Forward: x(1e4), ForwardPercent: x(90), SHA256: strings.Repeat("ab", 32)}},
		Decode:   []results.Decode{{Level: "memory", KVHeads: 8, Keys: 4096, Size: 128, Group: 4, Type: "float32", Tier: "avx2", Threads: 1, Timing: t(1e6), GBs: 9, Read: 12, ReadPercent: 75, PeakPercent: 20, Tokens: 1000}, {Level: "L3", KVHeads: 8, Keys: 1024, Size: 128, Group: 7, Type: "float32", Tier: "avx2", Threads: 1, Timing: t(1e6), GBs: 8, Read: 12, ReadPercent: 67, PeakPercent: 40, Tokens: 1000}},
		Curves: []results.Curve{{Kind: results.OverRows, Group: "linear layers", Case: hostile, Tier: "avx2", X: []float64{1, 2, 3}, Ns: []float64{x(1000), x(3000), x(2000)}},
			{Kind: results.OverRows, Group: "linear layers", Case: "float16", Tier: "avx2", X: []float64{2, 4}, Ns: []float64{x(500), x(600)}},
			{Kind: results.OverMagnitudes, Group: "functions", Case: "SiLU", Tier: "generic", X: []float64{1e-45, 1, 1e38}, Ns: []float64{x(8000), x(1000), x(1000)}}},
		Accuracy: &results.Accuracy{PyTorch: "2", CPU: "x", Tier: "avx2", Rows: 128, Cases: []results.AccuracyCase{{Kind: "norm", Case: "RMSNorm 384", Error: results.Error{Max: 1e-6, RMS: 1e-7}, PyTorch: results.Error{Max: 2e-6, RMS: 3e-7}}}},
		Models:   []results.Model{{Model: "MiniLM", Weights: strings.Repeat("ef", 32), Shape: "minilm-8x64", Task: results.TaskEmbed, Texts: 8, Tokens: 64, Tier: "avx2", Threads: 1, Timing: t(2e8), Rate: x(47), SHA256: strings.Repeat("ab", 32)}},
		NotRun:   []string{"SmolLM2: " + hostile},
		Peers:    []results.Peer{{Program: "PyTorch 2", Shape: "A", Threads: 1, Ns: x(15000)}, {Program: "PyTorch 2", Shape: "minilm-8x64", Threads: 1, Ns: x(3e8)}, {Program: "PyTorch 2", Shape: "backward-A", Threads: 1, Ns: x(4e4)}, {Program: "PyTorch 2", Shape: "unknown", Threads: 1, Ns: 1}},
	}
}

func render(t *testing.T, files ...*results.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, files); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// walk calls f for all elements.
func walk(n *html.Node, f func(n *html.Node)) {
	if n.Type == html.ElementNode {
		f(n)
	}
	for c := range n.ChildNodes() {
		walk(c, f)
	}
}

func attribute(n *html.Node, key string) (string, bool) {
	i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
	if i < 0 {
		return "", false
	}
	return n.Attr[i].Val, true
}

// textOf returns the text in an element.
func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var s string
	for c := range n.ChildNodes() {
		s += textOf(c)
	}
	return s
}

// lookUp finds the number at a place such as 0.speed.3.ns in files that were read as JSON.
func lookUp(files []any, key string) (float64, error) {
	at := any(files)
	for _, step := range strings.Split(key, ".") {
		switch x := at.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(x) {
				return 0, fmt.Errorf("%s: no element %s", key, step)
			}
			at = x[i]
		case map[string]any:
			at = x[step]
		default:
			return 0, fmt.Errorf("%s: no field %s", key, step)
		}
	}
	v, ok := at.(float64)
	if !ok {
		return 0, fmt.Errorf("%s is %v", key, at)
	}
	return v, nil
}

// checkValues compares all numbers in the page with the files, and returns how many there are.
func checkValues(t *testing.T, page string, files ...*results.File) (n int) {
	t.Helper()
	var raw []any
	for _, f := range files {
		var b bytes.Buffer
		var x any
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		raw = append(raw, x)
	}
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	walk(root, func(e *html.Node) {
		if e.Data != "data" {
			return
		}
		n++
		key, _ := attribute(e, "data-key")
		value, _ := attribute(e, "value")
		got, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if want, err := lookUp(raw, key); err != nil || got != want {
			t.Errorf("%s is %v in the page, %v in the file (%v)", key, got, want, err)
		}
		if shown := textOf(e); shown == "" || strings.Contains(shown, "NaN") {
			t.Errorf("%s is shown as %q", key, shown)
		}
	})
	return n
}

// Every number of the page is in the file, and the raw file is in the page as well.
func TestValues(t *testing.T) {
	files := []*results.File{example(0), example(1), example(2)}
	if n := checkValues(t, render(t, files[0]), files[0]); n < 100 {
		t.Errorf("only %d numbers", n)
	}
	page := render(t, files...)
	checkValues(t, page, files...)
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	walk(root, func(e *html.Node) {
		if e.Data != "pre" {
			return
		}
		if _, err := results.Parse("pre", []byte(textOf(e))); err != nil {
			t.Error(err)
		}
		i++
	})
	if i != 3 {
		t.Errorf("%d raw files, want 3", i)
	}
}

// Other programs are compared with attention, with models and with gradients.
func TestPeers(t *testing.T) {
	f := peers(example(0), 0)
	if len(f.table.Rows) != 3 || f.table.Rows[0][1].Text != "prefill" || f.table.Rows[1][1].Text != "minilm-8x64" || f.table.Rows[2][1].Text != "backward-prefill" {
		t.Errorf("%+v", f)
	}
}

// Curves of a kind, a group and a tier share a chart, whose worst steps are marked, and the table
// of worst steps begins with the worst one.
func TestCurves(t *testing.T) {
	f := example(0)
	s := curves(f, 0, 0)
	if len(s.chart.Series) != 2 || len(s.table.Rows) != 4 || s.table.Rows[1][1].Value != "3000" || s.table.Rows[1][2].Value != "500" || s.table.Rows[3][1].Text != "–" {
		t.Errorf("%+v", s)
	}
	if label := s.chart.Series[0].Points[1].Label; !strings.Contains(label, "the worst step: 1.50 times") {
		t.Errorf("the label of the worst step is %q", label)
	}
	worst := worstSteps(f)
	var got []string
	for _, row := range worst.Rows {
		got = append(got, row[4].Text+" at "+row[5].Text+" beside "+row[6].Text)
	}
	if want := []string{"8.00 at 1e-45 beside 1", "1.50 at 2 beside 3", "0.83 at 2 beside 4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The page has no elements from texts of the files, and loads nothing.
func TestEscapes(t *testing.T) {
	page := render(t, example(0), example(1))
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	scripts, named := 0, 0
	walk(root, func(e *html.Node) {
		switch e.Data {
		case "script":
			scripts++
		case "img", "iframe", "object", "embed", "a":
			t.Errorf("there is an element %s", e.Data)
		case "h2":
			if strings.Contains(textOf(e), hostile) {
				named++
			}
		}
		for _, a := range e.Attr {
			if a.Key == "src" || strings.HasPrefix(a.Key, "on") || a.Key == "href" && a.Val != "data:," {
				t.Errorf("%s has %s=%q", e.Data, a.Key, a.Val)
			}
		}
	})
	if scripts != 1 || named != 4 {
		t.Errorf("%d scripts, want 1; %d headings with the name of the CPU, want 4", scripts, named)
	}
	for _, no := range []string{"@import", "url(", "fetch("} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
}

// Each chart has a heading, a legend if it is drawn in several styles, and a table.
func TestAccessible(t *testing.T) {
	root, err := html.Parse(strings.NewReader(render(t, example(0))))
	if err != nil {
		t.Fatal(err)
	}
	ids, figures := map[string]bool{}, 0
	walk(root, func(e *html.Node) {
		if id, ok := attribute(e, "id"); ok {
			if ids[id] {
				t.Errorf("id %s is there twice", id)
			}
			ids[id] = true
		}
	})
	walk(root, func(e *html.Node) {
		if by, ok := attribute(e, "aria-labelledby"); ok && !ids[by] {
			t.Errorf("%s is labelled by %s, which is not there", e.Data, by)
		}
		class, _ := attribute(e, "class")
		if class != "figure" {
			return
		}
		figures++
		count := map[string]int{}
		walk(e, func(e *html.Node) { count[e.Data]++ })
		if count["table"] != 1 || count["th"] == 0 || count["svg"] != 2 || count["figcaption"] != 1 {
			t.Errorf("a figure has %v", count)
		}
	})
	if figures != 13 {
		t.Errorf("%d figures, want 13", figures)
	}
}

// A file with nothing but what every file has gives a page, too, and so does the file of a failed
// run.
func TestFewResults(t *testing.T) {
	f := &results.File{Format: results.Format, Schema: 1, Contract: 2, Machine: results.Machine{CPU: "x"}, Tiers: []results.Tier{{Name: "generic", Runs: true}}}
	if page := render(t, f); !strings.Contains(page, "not compared") {
		t.Error("the page does not say that no bits were compared")
	}
	f = example(0)
	f.Checks[0].Failures = []string{"layer1: avx2 differs"}
	f.Speed = f.Speed[:1]
	f.Speed[0].GFLOPs, f.Speed[0].Bytes = 0, 0
	if page := render(t, f); !strings.Contains(page, "DIFFER") || !strings.Contains(page, "layer1: avx2 differs") || !strings.Contains(page, "NOT RUN: SmolLM2") {
		t.Error("the page does not show the failure")
	}
}

// In a real browser the page has the same values, writes no error to the console, and sets no
// other title.
func TestBrowser(t *testing.T) {
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("NOT RUN: the page in a browser, because chromium is not installed (apt-get install chromium)")
	}
	files := []*results.File{example(0), example(1), example(2)}
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	page := render(t, files...)
	if len(page) > 3<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, width := range []string{"1280", "500"} {
		cmd := exec.CommandContext(t.Context(), browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, width),
			"--window-size="+width+",900", "--enable-logging=stderr", "--v=0", "--dump-dom", "file://"+path)
		cmd.WaitDelay = 5 * time.Minute
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		dom, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		for l := range strings.Lines(stderr.String()) {
			if strings.Contains(l, ":CONSOLE") {
				t.Errorf("the browser's console says %s", l)
			}
		}
		if n := checkValues(t, string(dom), files...); n < 300 {
			t.Errorf("only %d numbers", n)
		}
		if strings.Contains(string(dom), "<title>broken") {
			t.Error("a name of a CPU was executed")
		}
		if !strings.Contains(string(dom), `class="sortable`) && !strings.Contains(string(dom), `sortable"`) {
			t.Error("the script did not run")
		}
	}
}

// docs/benchmarks.md and its charts are made of the committed files.
func TestDocuments(t *testing.T) {
	files, comparisons := committed(t)
	all, err := Documents(files, comparisons)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		if got, err := os.ReadFile(filepath.Join("../../../docs", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is not what bench/results gives (%v): run make report", name, err)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d files, want a page and a chart for light and for dark ground", len(all))
	}
}

// TestSelections: README.md names contract and date of its chart, and the tables of
// models/README.md and docs/server.md are selections of the comparisons.
func TestSelections(t *testing.T) {
	_, comparisons := committed(t)
	for _, c := range results.Newest(comparisons) {
		if c.Chart != "libraries" {
			continue
		}
		if want := strings.TrimSuffix(fmt.Sprintf("contract %d, %s; %s", c.Contract, c.Date, c.Disturbance), "; ") + "."; !strings.Contains(onLine(t, "README.md"), want) {
			t.Errorf("beside its chart, README.md does not say %q", want)
		}
	}
	byFile := map[string]*results.Comparison{}
	for _, c := range comparisons {
		byFile[filepath.Base(c.Path)] = c
	}
	models := onLine(t, "models/README.md")
	found := func(cells ...string) {
		if row := "| " + strings.Join(cells, " | ") + " |"; !strings.Contains(models, row) {
			t.Errorf("models/README.md lacks %s", row)
		}
	}
	values := func(r results.ComparisonRow) (cells []string) {
		for _, v := range r.Values {
			cells = append(cells, strconv.FormatFloat(*v, 'g', -1, 64))
		}
		return cells
	}
	rates, waits, server := byFile["server-emerald-rapids.json"], byFile["server-first-token-emerald-rapids.json"], onLine(t, "docs/server.md")
	for i, r := range rates.Rows {
		row := "| " + r.Name
		for k, v := range r.Values {
			row += fmt.Sprintf(" | %g | %s", *v, tables.Duration(*waits.Rows[i].Values[k]))
		}
		if !strings.Contains(server, row+" |") {
			t.Errorf("docs/server.md lacks %s", row)
		}
	}
	c := byFile["minilm-genoa.json"]
	found(append([]string{"sentences of MiniLM a second"}, c.Programs...)...)
	for _, r := range c.Rows {
		found(append([]string{strings.Replace(r.Name, " × ", " of ", 1) + " tokens"}, values(r)...)...)
	}
	byName, listed := map[string]results.ComparisonRow{}, 0
	for _, r := range byFile["smollm2-genoa.json"].Rows {
		byName[r.Name] = r
	}
	for name, prompt := range byName {
		weights, ok := strings.CutSuffix(name, ", prompt of 256")
		if ok && strings.Contains(models, "| "+weights+" | "+values(prompt)[0]) {
			found(append(append([]string{weights}, values(prompt)...), values(byName[weights+", 128 generated"])...)...)
			listed++
		}
	}
	if listed != 6 {
		t.Errorf("models/README.md has %d rows of smollm2-genoa.json, want 6", listed)
	}
}

// onLine returns a page of the repository on one line.
func onLine(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile("../../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\n", " ")
}

// A run that was disturbed has no figure on the page, and neither has a time that was not steady.
func TestMarkdown(t *testing.T) {
	quiet, disturbed := example(0), example(1)
	quiet.Machine.StealPercent, quiet.Machine.CPU, quiet.Path = nil, "quiet CPU", "quiet.json"
	disturbed.Machine.StealPercent, disturbed.Machine.CPU, disturbed.Path, disturbed.Disturbance = nil, "other CPU", "other.json", "a neighbour"
	quiet.Speed[0].Q3 = 2 * quiet.Speed[0].Ns
	quiet.Speed[1].Ns, quiet.Speed[1].Q1, quiet.Speed[1].Q3 = 7777, 7777, 7777
	var b bytes.Buffer
	quiet.Args = []string{"-quick", "-threads=1", "-decode"}
	quiet.Bandwidths = append([]results.Bandwidth{{Level: "L1", Threads: 2, GBs: 999}}, quiet.Bandwidths...)
	one := 1.0
	beside := &results.Comparison{Title: "Beside", Machine: "m", Commands: []string{"c"}, Date: "2026-01-02", Contract: 2, Disturbance: "a neighbour slept.", Unit: "rows/s", Of: "row",
		Programs: []string{"attn"}, Rows: []results.ComparisonRow{{Name: "r", Values: []*float64{&one}}}}
	two, drawn := 2.0, *beside
	drawn.Title, drawn.Chart = "Drawn", "drawn"
	drawn.Rows = []results.ComparisonRow{{Name: "r", Values: []*float64{&one, &two}, Chart: true}, {Name: "s", Values: []*float64{&two, &two}, Chart: true}, {Name: "u", Values: []*float64{&two, nil}, Chart: true}, {Name: "hidden", Values: []*float64{&one, nil}}}
	drawn.Programs = []string{"attn", "other"}
	older := drawn
	older.Contract, older.Programs = 1, []string{"attn", "forgotten"}
	elsewhere := *beside
	elsewhere.Title, elsewhere.Page = "Elsewhere", "docs/server.md"
	if err := WriteMarkdown(&b, []*results.File{quiet, disturbed}, []*results.Comparison{beside, &older, &drawn, &elsewhere}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"- **quiet**: quiet CPU. ", "contract 2", "| – | 7.78 µs |", "Left out: other CPU, [other.json](../bench/results/other.json): a neighbour.", "| | quiet, avx2, one thread | quiet, avx2, 2 threads |", "| 30.0 µs · ",
		"`go run ./bench -quick -threads=1 -decode` · contract 2", "; reads 150 GB/s from L1, 12 GB/s from memory.", " · in rows/s · **Disturbed:** a neighbour slept.\n", "\n| row | r | s | u |\n|---|---|---|---|\n| attn | 1 | 2 | 2 |\n| other | 2 · 0.50× | 2 · 1.00× | – |\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "**other**") || strings.Contains(page, "Elsewhere") || strings.Contains(page, "forgotten") || strings.Contains(page, "hidden") {
		t.Error("a disturbed run, a comparison of another page or of an older contract, or a row that no chart has, is in a table")
	}
}

// committed returns the files in bench/results.
func committed(t *testing.T) ([]*results.File, []*results.Comparison) {
	t.Helper()
	paths, err := filepath.Glob("../../results/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no files", err)
	}
	files, err := results.ReadAll(paths)
	if err != nil {
		t.Fatal(err)
	}
	comparisons, err := results.ReadComparisons("../../results/peers")
	if err != nil || len(comparisons) == 0 {
		t.Fatal("no comparisons", err)
	}
	return files, comparisons
}

// All files in bench/results can be read, and computed the same bits.
func TestCommittedResults(t *testing.T) {
	files, _ := committed(t)
	if a := results.Agree(files); !a.Agree {
		t.Error(a.Line)
	}
	checkValues(t, render(t, files...), files...)
}
