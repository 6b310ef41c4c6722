package suite

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/chart"
	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/page"
	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/weights"
)

// replace sets a variable until the test ends.
func replace[T any](t *testing.T, p *T, x T) {
	old := *p
	*p = x
	t.Cleanup(func() { *p = old })
}

// run runs a suite and looks for words in its output.
func run(t *testing.T, name string, c *Config, words ...string) {
	t.Helper()
	var out bytes.Buffer
	var f results.File
	steps := 0
	c.Progress = func(string) { steps++ }
	if err := find(name).Run(context.Background(), c, &f); err != nil {
		t.Fatal(err)
	}
	if want := find(name).Steps(c); steps != want {
		t.Errorf("%s: %d steps, want %d", name, steps, want)
	}
	f.Tiers = append(f.Tiers, results.Tier{Name: "generic", Runs: true, Default: true})
	page.Print(&out, &f)
	for _, want := range words {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
}

func find(name string) *Suite {
	for i := range All {
		if All[i].Name == name {
			return &All[i]
		}
	}
	return nil
}

// allTiers measures all tiers that run here on one and on two threads.
func allTiers() *Config {
	return &Config{Tiers: kernel.Tiers(), Threads: []int{1, 2}, Generic: true}
}

func TestLinear(t *testing.T) {
	replace(t, &linearShapes, []linearShape{{17, 20, 32}, {1, 50, 256}})
	replace(t, &defaultTime, time.Millisecond)
	run(t, "linear", allTiers(), "17 × 32 → 20", "1 × 256 → 50", "float16", "bfloat16, products too", "Q6_K × int8", "generic", "GFLOP/s", "GB/s")
}

func TestBackward(t *testing.T) {
	replace(t, &backwardShapes, []problem.Shape{
		{Name: "x", Alias: "X", Heads: 2, KVHeads: 2, Lq: 70, Lk: 70, D: 8, Causal: true},
		{Name: "y", Heads: 4, KVHeads: 2, Lq: 9, Lk: 130, D: 5},
	})
	replace(t, &defaultTime, time.Millisecond)
	run(t, "backward", allTiers(), "2 heads 70×70 D8 causal", "4 heads on 2, 9×130 D5", "generic", "% of peak", "forward")
	var f results.File
	if err := find("backward").Run(t.Context(), allTiers(), &f); err != nil {
		t.Fatal(err)
	}
	if a := results.Agree([]*results.File{&f}); !a.Agree || len(results.Outputs([]*results.File{&f})) != 2 {
		t.Error(a.Line)
	}
	for _, b := range f.Backward {
		ratio := b.GFLOPs * b.Ns / (b.ForwardPercent / 100 * b.Peak * b.Forward)
		if b.Percent <= 0 || len(b.SHA256) != 64 || ratio < 2.499 || ratio > 2.501 {
			t.Errorf("%+v has %g times the operations of the forward call, want 2.5", b, ratio)
		}
	}
}

// Gradients that depend on the number of threads do not agree, in each of the three.
func TestGradientsDiffer(t *testing.T) {
	replace(t, &backwardShapes, []problem.Shape{{Name: "x", Heads: 1, KVHeads: 1, Lq: 3, Lk: 3, D: 2}})
	replace(t, &defaultTime, time.Millisecond)
	for i := range 3 {
		replace(t, &attentionBackward, func(g kernel.Gradients, dout, q, k, v, lse kernel.Tensor, o *kernel.BackwardOptions) error {
			if o.Threads == 1 {
				return kernel.AttentionBackward(g, dout, q, k, v, lse, o)
			}
			wrong := []kernel.Gradients{{Q: g.Q}, {K: g.K}, {V: g.V}}[i] // the other two stay
			return kernel.AttentionBackward(wrong, v, q, k, v, lse, o)
		})
		var f results.File
		err := find("backward").Run(t.Context(), &Config{Tiers: []kernel.Tier{machine.Generic}, Threads: []int{1, 2}, Generic: true}, &f)
		if a := results.Agree([]*results.File{&f}); err != nil || len(a.Names) != 1 || a.Names[0] != "backward-x" {
			t.Errorf("gradient %d: %+v, %v", i, a, err)
		}
	}
}

func TestOptions(t *testing.T) {
	replace(t, &optionShapes, []problem.Shape{
		{Name: "E", Heads: 2, KVHeads: 2, Lq: 40, Lk: 40, D: 8},
		{Name: windowShape, Heads: 1, KVHeads: 1, Lq: 300, Lk: 300, D: 8},
	})
	words := []string{"E: 2 heads 40×40 D8", windowShape + ": 1 heads 300×300 D8", "generic"}
	for _, o := range options {
		words = append(words, "\n"+o.name+" ")
	}
	run(t, "options", allTiers(), words...)
}

// A window of 256 leaves the causal triangle of a square of 256, and in a square of 8192
// about 256 scores in each row.
func TestShareOfWindow(t *testing.T) {
	o := &option{share: windowShare}
	if got, want := o.shareOf(&problem.Shape{Lq: 256, Lk: 256}), 257.0/512; got != want {
		t.Errorf("share of 256: %g, want %g", got, want)
	}
	if got := o.shareOf(&problem.Shape{Lq: 8192, Lk: 8192}); got < 255.0/8192*0.98 || got > 256.0/8192 {
		t.Errorf("share of 8192: %g", got)
	}
}

func TestDecoder(t *testing.T) {
	replace(t, &defaultTime, time.Millisecond)
	level := cacheLevel{"x", 2, 256, 3}
	for i := range calls.Types {
		e := &calls.Types[i]
		c := Config{Tiers: []kernel.Tier{machine.Generic}}
		var f results.File
		for _, r := range c.decoding(level, e, []int{1, 3}, []int{2}, &f) {
			if err := r.measure(t.Context()); err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
		}
		if len(f.Decode) != 2 || f.Decode[0].Group != 1 {
			t.Fatalf("%s: %+v", e.Name, f.Decode)
		}
		elements, bytes := float64(2*2*256*decodeSize), e.Bytes(decodeSize)
		if r := f.Decode[1]; r.Type != e.Name || r.Threads != 2 || r.Group != 3 || r.Flops != 6*elements || r.Bytes != bytes*elements || r.ReadPercent <= 0 || r.PeakPercent <= 0 {
			t.Errorf("%s: %+v", e.Name, r)
		}
		if got, want := level.sets(e), int(12/bytes); got != want {
			t.Errorf("%s: %d sets, want %d", e.Name, got, want)
		}
	}
}

// Every curve can be measured at each of its numbers, which rise, and few share a chart.
func TestCliffs(t *testing.T) {
	charts := map[string]int{}
	for _, kind := range results.CurveKinds {
		for _, x := range cliffCases[kind]() {
			x.kind = kind
			charts[kind+x.group]++
			if !slices.IsSorted(x.at) || len(slices.Compact(slices.Clone(x.at))) != len(x.at) || len(x.at) < 8 {
				t.Errorf("%s, %s, %s: %v", kind, x.group, x.name, x.at)
			}
			x.at = []float64{x.at[0], x.at[5]}
			c := &Config{Quick: true, Time: time.Nanosecond}
			r, err := c.curve(t.Context(), &x, kernel.Exec{Threads: 1})
			if err != nil || len(r.Ns) != 2 || !(r.Ns[0] > 0) || !(r.Ns[1] < 1e12) || r.Kind != kind || r.Case != x.name {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
	for name, n := range charts {
		if n > chart.Styles {
			t.Errorf("%s has %d curves, but a chart %d styles", name, n, chart.Styles)
		}
	}
	if len(charts) < 15 {
		t.Errorf("%d charts", len(charts))
	}
}

// Every suite ends soon after an interrupt.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	replace(t, &optionShapes, nil)
	replace(t, &linearShapes, linearShapes[:1])
	for _, s := range All {
		if err := s.Run(ctx, &Config{Tiers: []kernel.Tier{machine.Generic}, Threads: []int{1}, Generic: true}, &results.File{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", s.Name, err)
		}
	}
}

// Whole models give the same bits on all tiers and numbers of threads, if their weights are there.
func TestModels(t *testing.T) {
	for _, m := range []*model{miniLM, smolLM2} {
		if _, err := weights.Find(m.path); err != nil {
			t.Skipf("NOT RUN: %v", err)
		}
	}
	if testing.Short() || len((&Config{Tiers: kernel.Tiers()}).vectorTiers()) == 0 {
		t.Skip("NOT RUN: models, which take too long here")
	}
	replace(t, &modelTasks, []modelTask{{"a", miniLM, results.TaskEmbed, 2, 5, false}, {"b", smolLM2, results.TaskPrompt, 1, 9, false}, {"c", smolLM2, results.TaskGenerate, 1, 3, false}})
	replace(t, &defaultTime, time.Millisecond)
	c := &Config{Tiers: kernel.Tiers(), Threads: []int{1, 2}}
	run(t, "models", c, "all-MiniLM-L6-v2, 2 × 5 tokens", "SmolLM2-135M-Instruct, generation of 3 tokens", "sentences/s", "tokens/s")
	var f results.File
	if err := find("models").Run(t.Context(), c, &f); err != nil {
		t.Fatal(err)
	}
	if a := results.Agree([]*results.File{&f}); !a.Agree || len(results.Outputs([]*results.File{&f})) != 3 {
		t.Error(a.Line)
	}
	for _, m := range f.Models {
		if m.Rate <= 0 || len(m.SHA256) != 64 || len(m.Weights) != 64 {
			t.Errorf("%+v", m)
		}
	}
}

// What cannot be measured is noted.
func TestNotRun(t *testing.T) {
	t.Setenv("ATTN_MODELS", t.TempDir())
	var f results.File
	c := &Config{Tiers: []kernel.Tier{machine.Generic}, Threads: []int{1}, Generic: true}
	if err := find("models").Run(t.Context(), c, &f); err != nil || len(f.NotRun) != 2 || len(f.Models) != 0 {
		t.Errorf("%q, %v", f.NotRun, err)
	}
	c.Generic = false
	for _, name := range []string{"models", "options", "backward", "cliffs"} {
		f.NotRun = nil
		if err := find(name).Run(t.Context(), c, &f); err != nil || len(f.NotRun) != 1 {
			t.Errorf("%s on the tier generic alone: %q, %v", name, f.NotRun, err)
		}
	}
}

// -shapes chooses of every suite that has shapes, also what a quick run leaves out.
func TestShapes(t *testing.T) {
	for _, s := range All {
		if s.Shapes == nil {
			continue
		}
		c := &Config{Tiers: []kernel.Tier{machine.Generic}, Threads: []int{1}, Generic: true, Quick: true}
		sum := 0
		for _, label := range s.Shapes() {
			name, _, _ := strings.Cut(label, " (")
			c.Shapes = []string{strings.ToUpper(name)}
			n := s.Steps(c)
			if n == 0 && s.Name != "models" {
				t.Errorf("%s measures nothing for %s", s.Name, name)
			}
			sum += n
		}
		c.Quick, c.Shapes = false, nil
		if all := s.Steps(c); sum != all {
			t.Errorf("%s: %d steps for each shape, %d for all", s.Name, sum, all)
		}
	}
}

// A workload's outputs have a hash, its calls are timed beside the peak, and those that read much
// beside reading.
func TestAttention(t *testing.T) {
	replace(t, &problem.Shapes, []problem.Shape{{Name: "x", Alias: "X", Heads: 2, KVHeads: 1, Lq: 3, Lk: 4, D: 8}, {Name: "decoding", Heads: 8, KVHeads: 2, Lq: 1, Lk: 2048, D: 64}, {Name: "real", Alias: problem.Real}})
	var f results.File
	c := &Config{Tiers: []kernel.Tier{machine.Generic}, Threads: []int{2}, Time: time.Millisecond}
	if err := Attention.Run(t.Context(), c, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Speed) != 2 || f.Speed[0].Input != "2 heads on 1, 3×4 D8" || len(f.Skipped) != 1 || f.Skipped[0] != "real" || len(f.Peaks) == 0 || len(f.Bandwidths) != 8 {
		t.Fatalf("%+v", f)
	}
	for i, r := range f.Speed {
		if len(r.SHA256) != 64 || r.Percent <= 0 || r.Read > 0 != (i == 1) || r.Threads != 2 {
			t.Errorf("%+v", r)
		}
	}
	c.Shapes, c.Generic = []string{"real"}, true
	if err := Attention.Run(t.Context(), c, &f); err != nil || len(f.Speed) != 3 || f.Speed[2].Input != "activations of trained models" {
		t.Errorf("%+v, %v", f.Speed, err)
	}
}

// Short calls are repeated within a sample, and limits are measured as often as samples are taken.
func TestMeasure(t *testing.T) {
	count, limits := 0, 0
	rates, times, err := (&Config{Time: time.Nanosecond}).measure(t.Context(), time.Hour, []func() []float64{func() []float64 { limits++; return []float64{1, 2} }},
		func() error { count++; return nil }, func() error { time.Sleep(longCall); return nil })
	if err != nil || limits != 1+minRounds || len(rates[0]) != 2*minRounds || len(times[0]) != minRounds || count < 100*minRounds {
		t.Errorf("%d calls, %d limits, %v, %v, %v", count, limits, rates, times, err)
	}
	if _, _, err := (&Config{}).measure(t.Context(), 0, nil, func() error { return errors.New("x") }); err == nil {
		t.Error("no error")
	}
}
