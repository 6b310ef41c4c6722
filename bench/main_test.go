package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
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
		{"-json=", []string{"want a file"}},
		{"-json none/x", []string{"-json is none/x: there is no folder none"}},
		{"-json .", []string{"-json is ., a folder"}},
		{"-note x", []string{"-json"}},
		{"-linear -shapes A", []string{"none of \"A\" is a shape of -linear", "1x4096x16384"}},
		{"-linear -shapes 1x768x768,x", []string{`"x"`, "1x4096x16384"}},
		{"-linear -shapes 1x768x768,", []string{`""`}},
		{"-linear -decode -shapes memory", []string{"none of \"memory\" is a shape of -linear"}},
		{"-options -shapes none", []string{"none of \"none\" is a shape of -options", "prefill-2k-d128 (E)"}},
		{"-options -threads 2", []string{"-options does not go with -threads", "one thread"}},
		{"-accuracy -options -count 2", []string{"-accuracy does not go with -count", "same each time"}},
		{"-shapes none -time 1s", []string{"-shapes none does not go with -time"}},
		{"-shapes none -threads 1", []string{"-shapes none does not go with -threads"}},
		{"-json x -peers=", []string{"-peers: want a file"}},
		{"-all -decode", []string{"-all does not go with -decode"}},
		{"-quick -shapes A", []string{"-quick does not go with -shapes"}},
		{"-cliffs -shapes rows,x", []string{`"x"`, "magnitudes"}},
		{"-cliffs -count 2", []string{"least of several"}},
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
		for flag, value := range map[string]string{"shapes": shape, "time": "1ms", "count": "2", "threads": "1", "tiers": "generic", "quick": "true", "json": "x"} {
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
			got := c
			for f, ok := range map[string]bool{"shapes": slices.Equal(got.Shapes, []string{shape}), "time": got.Time == time.Millisecond, "count": c.count == 2 && s.Repeats(),
				"threads": slices.Equal(got.Threads, []int{1}), "tiers": fmt.Sprint(got.Tiers) == "[generic]", "quick": got.Quick, "json": c.json == "x"} {
				if f == flag && !ok {
					t.Errorf("-%s ignores -%s", s.Name, flag)
				}
			}
		}
	}
}

// The runs of -count are in the file.
func TestCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	code, _, text := runCommand("-linear", "-accuracy", "-quick", "-tiers", "generic", "-json", path, "-time", "1ms", "-count", "3")
	if code != 2 || !strings.Contains(text, "-accuracy does not go with -count") {
		t.Errorf("exit code %d: %s", code, text)
	}
	code, _, text = runCommand("-linear", "-shapes", "1x768x768", "-tiers", "generic", "-threads", "1", "-time", "1ms", "-count", "3", "-json", path)
	f, err := results.Read(path)
	if code != 0 || err != nil || len(f.Linear) != 3+10 || len(f.Linear[0].Runs) != 3 || !strings.Contains(text, "[39/39] ") {
		t.Errorf("exit code %d, %+v, %v: %s", code, f, err, text)
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
	if code != 0 || !strings.Contains(out, "-cliffs") || !strings.Contains(out, "S32") {
		t.Errorf("exit code %d, %q", code, out)
	}
}

func TestReport(t *testing.T) {
	code, out, err := runCommand("-shapes", "S1,s4", "-threads", "1", "-time", "1ms")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, err)
	}
	for _, want := range []string{fmt.Sprintf("contract %d", kernel.Contract), runtime.Version(), "generic", "layer1", "189ae3e7", "PyTorch", "% of peak", "12 heads 4×4 D64", "bits     same"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	if !strings.HasPrefix(err, "[") || strings.Count(err, "\n") != 1 {
		t.Errorf("progress is more than its last step:\n%s", err)
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
	if code, _, err := runCommand("-shapes", "none"); code != 1 || !strings.Contains(err, "differs from generic in") {
		t.Errorf("exit code %d, %q", code, err)
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
	if code != 1 || !strings.Contains(err, "The bits DIFFER in 1 of 4 outputs: short-8-d64.") {
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
