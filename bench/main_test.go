package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attn-go/attn/bench/internal/problem"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/suite"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

// runCommand runs the command. Its output is not on a terminal.
func runCommand(args ...string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"-shapes X", []string{`"X"`, "prefill-1k-d64 (A)", "(S32)", "(R)"}},
		{"-shapes A,", []string{`""`}},
		{"-tiers sse", []string{`"sse"`, "generic"}},
		{"-threads 0", []string{`"0"`, "1 to"}},
		{"-threads two", []string{`"two"`, "all"}},
		{"-threads 99999999999999999999", []string{"1 to"}},
		{"-time 0s", []string{"-time"}},
		{"-time fast", []string{"fast"}},
		{"-count 0", []string{"-count"}},
		{"-causal", []string{"-activations"}},
		{"-activations=", []string{"want a file"}},
		{"-activations x -offset 1", []string{"-causal"}},
		{"-json=", []string{"want a file"}},
		{"-json none/x", []string{"-json is none/x: there is no folder none"}},
		{"-json .", []string{"-json is ., a folder"}},
		{"-note x", []string{"-json"}},
		{"-decode -activations x", []string{"-decode does not go with -activations"}},
		{"-linear -shapes A", []string{"none of A is a shape of -linear", "1x4096x16384"}},
		{"-linear -shapes 1x768x768,x", []string{`"x"`, "1x4096x16384"}},
		{"-linear -shapes 1x768x768,", []string{`""`}},
		{"-linear -decode -shapes memory", []string{"none of memory is a shape of -linear"}},
		{"-options -shapes none", []string{"none of none is a shape of -options", "prefill-2k-d128 (E)"}},
		{"-options -threads 2", []string{"-options does not go with -threads", "one thread"}},
		{"-accuracy -options -count 2", []string{"-accuracy does not go with -count", "same each time"}},
		{"-shapes none -time 1s", []string{"-shapes none does not go with -time"}},
		{"-shapes none -threads 1", []string{"-shapes none does not go with -threads"}},
		{"-json x -peers=", []string{"-peers: want a file"}},
		{"-all -decode", []string{"-all does not go with -decode"}},
		{"-all -benchfmt", []string{"-all does not go with -benchfmt"}},
		{"-quick -shapes A", []string{"-quick does not go with -shapes"}},
		{"-benchfmt -json -", []string{"standard output"}},
		{"A", []string{"unexpected", `"A"`}},
		{"-frobnicate", []string{"frobnicate"}},
	} {
		code, out, err := runCommand(strings.Fields(c.args)...)
		if code != 2 || out != "" {
			t.Errorf("%s: exit code %d, output %q", c.args, code, out)
		}
		for _, want := range c.want {
			if !strings.Contains(err, want) {
				t.Errorf("%s: %q does not contain %q", c.args, err, want)
			}
		}
	}
}

// Each suite takes a flag or refuses it with a reason; none of them ignores it.
func TestFlagsOfSuites(t *testing.T) {
	for _, s := range suite.All {
		shape := "x"
		if s.Shapes != nil {
			shape, _, _ = strings.Cut(s.Shapes()[0], " (")
		}
		for flag, value := range map[string]string{"shapes": shape, "time": "1ms", "count": "2", "benchfmt": "true", "threads": "1", "tiers": "generic", "quick": "true", "json": "x"} {
			c, err := parse([]string{"-" + s.Name, "-" + flag + "=" + value}, io.Discard)
			if reason := s.Refuses[flag]; reason != "" {
				if err == nil || !strings.Contains(err.Error(), reason) {
					t.Errorf("-%s -%s: %v, want an error that says %s", s.Name, flag, err, reason)
				}
				continue
			}
			if err != nil {
				t.Errorf("-%s -%s: %v", s.Name, flag, err)
				continue
			}
			got := newBench(c, io.Discard, io.Discard).suite
			for f, ok := range map[string]bool{"shapes": slices.Equal(got.Shapes, []string{shape}), "time": got.Time == time.Millisecond, "count": c.Count == 2 && s.Repeats(),
				"threads": slices.Equal(got.Threads, []int{1}), "tiers": fmt.Sprint(got.Tiers) == "[generic]", "quick": got.Quick, "benchfmt": c.benchfmt, "json": c.json == "x"} {
				if f == flag && !ok {
					t.Errorf("-%s ignores -%s", s.Name, flag)
				}
			}
		}
	}
}

// Suites print lines for benchstat, and write the runs of -count.
func TestSuiteBenchFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	code, out, err := runCommand("-linear", "-shapes", "1x768x768", "-tiers", "generic", "-threads", "1", "-time", "1ms", "-count", "3", "-benchfmt", "-json", path)
	if code != 0 || err != "" {
		t.Fatalf("exit code %d: %s", code, err)
	}
	count := map[string]int{}
	for l := range strings.Lines(out) {
		name, _, _ := strings.Cut(l, "/")
		count[name]++
	}
	if count["BenchmarkLinear"] != 36 {
		t.Errorf("%v in\n%s", count, out)
	}
	f, e := results.Read(path)
	if e != nil || len(f.Linear) != 12 || len(f.Linear[0].Runs) != 3 {
		t.Errorf("%+v, %v", f, e)
	}
}

func TestTierThatCannotRun(t *testing.T) {
	for i := range tier.Tiers {
		x := &tier.Tiers[i]
		if x.Lacks() == "" {
			continue
		}
		code, _, err := runCommand("-tiers", x.Name)
		if code != 2 || !strings.Contains(err, x.Lacks()) {
			t.Errorf("-tiers %s: exit code %d, %q", x.Name, code, err)
		}
	}
}

func TestHelp(t *testing.T) {
	code, out, _ := runCommand("-h")
	if code != 0 || !strings.Contains(out, "-benchfmt") || !strings.Contains(out, "S32") {
		t.Errorf("exit code %d, %q", code, out)
	}
}

func TestMissingFile(t *testing.T) {
	if code, _, err := runCommand("-activations", "no/such/file"); code != 1 || !strings.Contains(err, "no/such/file") {
		t.Errorf("exit code %d, %q", code, err)
	}
}

func TestReport(t *testing.T) {
	code, out, err := runCommand("-shapes", "S1,s4", "-threads", "1", "-time", "1ms")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, err)
	}
	for _, want := range []string{fmt.Sprintf("contract %d", kernel.Contract), runtime.Version(), "generic", "layer1", "189ae3e7", "PyTorch", "% of peak", "12 heads 4×4 D64"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	if want := "short-4-d64 (S4) generic threads=1: "; !strings.Contains(err, want) {
		t.Errorf("progress lacks %q:\n%s", want, err)
	}
}

func TestBenchFormat(t *testing.T) {
	code, out, err := runCommand("-shapes", "S1,S2", "-tiers", "generic", "-threads", "1,2", "-time", "1ms", "-count", "2", "-benchfmt")
	if code != 0 || err != "" {
		t.Fatalf("exit code %d: %s", code, err)
	}
	// On a busy machine the peak may vary, and then there is no share of it.
	line := regexp.MustCompile(`^BenchmarkAttention/shape=short-[12]-d64/tier=generic/threads=[12]\t *\d+\t *[\d.e+]+ ns/op\t *[\d.e+-]+ GFLOP/s(\t *[\d.e+-]+ %peak)?$`)
	config := regexp.MustCompile(`^(goos|goarch|pkg|cpu): .|^Unit \S+ better=(higher|lower)$`)
	n := 0
	for l := range strings.Lines(out) {
		l = strings.TrimSuffix(l, "\n")
		switch {
		case line.MatchString(l):
			n++
		case !config.MatchString(l):
			t.Errorf("not in Go's benchmark format: %q", l)
		}
	}
	if n != 8 {
		t.Errorf("%d results, want 8:\n%s", n, out)
	}
}

// damage makes the calls that are executed in some ways compute something else.
func damage(t *testing.T, when func(e kernel.Exec) bool) {
	t.Helper()
	problem.Fault = func(p *problem.Problem, out *problem.Array, e kernel.Exec) {
		if !when(e) {
			return
		}
		if err := kernel.Attention(out.Tensor(), p.Q.Tensor(), p.V.Tensor(), p.V.Tensor(), &kernel.Options{Exec: e}); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { problem.Fault = nil })
}

func TestDifferenceFails(t *testing.T) {
	damage(t, func(e kernel.Exec) bool { return e.Threads > 1 })
	for _, args := range []string{"-shapes none", "-shapes none -benchfmt"} {
		code, _, err := runCommand(strings.Fields(args)...)
		if code != 1 || !strings.Contains(err, "differs from generic in") {
			t.Errorf("%s: exit code %d, %q", args, code, err)
		}
	}
}

func TestWrongContractFails(t *testing.T) {
	damage(t, func(kernel.Exec) bool { return true })
	code, _, err := runCommand("-shapes", "none")
	if code != 1 || !strings.Contains(err, fmt.Sprintf("contract %d gives 189ae3e7", kernel.Contract)) {
		t.Errorf("exit code %d, %q", code, err)
	}
}

func TestDifferenceWhileTimingFails(t *testing.T) {
	damage(t, func(e kernel.Exec) bool { return e.Threads == 3 })
	code, _, err := runCommand("-shapes", "S8", "-tiers", "generic", "-threads", "1,3", "-time", "1ms")
	if code != 1 || !strings.Contains(err, "short-8-d64: short-8-d64 (S8) generic threads=3 differs from short-8-d64 (S8) generic threads=1 in") {
		t.Errorf("exit code %d, %q", code, err)
	}
}

func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, err bytes.Buffer
	if code := run(ctx, nil, &out, &err); code != 1 || !strings.Contains(err.String(), "interrupted") {
		t.Errorf("exit code %d, %q", code, err.String())
	}
}
