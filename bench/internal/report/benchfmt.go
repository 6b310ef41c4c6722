package report

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/results"
)

// units of the lines of Go's benchmark format, and which of their values are better.
var units = [][2]string{{"GFLOP/s", "higher"}, {"%peak", "higher"}, {"GB/s", "higher"}, {"%read", "higher"}, {"tokens/s", "higher"}, {"sentences/s", "higher"},
	{"%cost", "lower"}, {"ns/tanh", "lower"}, {"ns/element", "lower"}, {"speedup", "higher"}}

// BenchHeader writes the configuration lines of Go's benchmark format. They also say of our units
// which values are better.
func BenchHeader(w io.Writer) {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/attn-go/attn/bench\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, machine.CPUName())
	for _, u := range units {
		fmt.Fprintf(w, "Unit %s better=%s\n", u[0], u[1])
	}
}

// A value is a figure of a line.
type value struct {
	x    float64
	unit string
}

// line returns a result in Go's benchmark format. The name has words with slashes between them, in
// which nothing but letters, digits and a few signs is left.
func line(samples int, ns float64, values []value, name string, args ...any) string {
	l := fmt.Sprintf("Benchmark%s\t%8d\t%10.6g ns/op", strings.Map(inName, fmt.Sprintf(name, args...)), samples, ns)
	for _, v := range values {
		l += fmt.Sprintf("\t%8.4g %s", v.x, v.unit)
	}
	return l
}

// inName returns the rune that stands for r in the name of a benchmark.
func inName(r rune) rune {
	switch {
	case r == ' ' || r == ',':
		return '_'
	case r == '[' || r == ']':
		return -1
	}
	return r
}

// BenchLine returns a result in Go's benchmark format.
func BenchLine(r results.Speed) string {
	return line(r.Calls, r.Ns, append([]value{{r.GFLOPs, "GFLOP/s"}}, share("%peak", r.Share)...), "Attention/shape=%s/tier=%s/threads=%d", r.Shape, r.Tier, r.Threads)
}

// OptionLines returns the times of calls with options in Go's benchmark format.
func OptionLines(f *results.File) (lines []string) {
	for _, o := range f.Options {
		lines = append(lines, line(o.Samples, o.With, []value{{o.Cost, "%cost"}}, "Option/option=%s/shape=%s/tier=%s", o.Option, o.Shape, o.Tier))
	}
	return lines
}

// LinearLines returns the times of linear layers in Go's benchmark format.
func LinearLines(f *results.File) (lines []string) {
	for _, l := range f.Linear {
		values := append([]value{{l.Rate, "GFLOP/s"}}, share("%peak", l.Share)...)
		if l.Limit == results.LimitRead {
			values = append([]value{{l.Rate, "GB/s"}}, share("%read", l.Share)...)
		}
		lines = append(lines, line(l.Samples, l.Ns, values, "Linear/shape=%dx%dx%d/weights=%s/tier=%s/threads=%d", l.Rows, l.Inputs, l.Outputs, l.Weights, l.Tier, l.Threads))
	}
	return lines
}

// LayerLines returns the times of modules, additive attention and norms in Go's benchmark format.
func LayerLines(f *results.File) (lines []string) {
	for _, m := range f.MultiHead {
		lines = append(lines, line(m.Samples, m.Ns, append([]value{{m.GFLOPs, "GFLOP/s"}}, share("%peak", m.Share)...), "MultiHead/shape=%dx%dx%d/tier=%s/threads=%d", m.Batch, m.Tokens, m.Width, m.Tier, m.Threads))
	}
	for _, a := range f.Additive {
		lines = append(lines, line(a.Samples, a.Ns, []value{{a.Tanh, "ns/tanh"}}, "Additive/shape=%dx%dx%dx%dx%d/tier=%s/threads=%d", a.Batch, a.Queries, a.Keys, a.Hidden, a.Values, a.Tier, a.Threads))
	}
	for _, n := range f.Norms {
		lines = append(lines, line(n.Samples, n.Ns, []value{{n.Element, "ns/element"}}, "Norm/norm=%s/shape=%dx%d/tier=%s/threads=%d", n.Norm, n.Tokens, n.Width, n.Tier, n.Threads))
	}
	return lines
}

// BackwardLines returns the times of gradients in Go's benchmark format.
func BackwardLines(f *results.File) (lines []string) {
	for _, b := range f.Backward {
		lines = append(lines, line(b.Samples, b.Ns, append([]value{{b.GFLOPs, "GFLOP/s"}}, share("%peak", b.Share)...), "Backward/shape=%s/tier=%s/threads=%d", b.Shape, b.Tier, b.Threads))
	}
	return lines
}

// DecodeLines returns the times of decoding in Go's benchmark format.
func DecodeLines(f *results.File) (lines []string) {
	for _, d := range f.Decode {
		lines = append(lines, line(d.Samples, d.Ns, append(append([]value{{d.GBs, "GB/s"}}, append(share("%read", d.ReadShare), share("%bound", d.BoundShare)...)...), value{d.Tokens, "tokens/s"}), "Decode/from=%s/type=%s/tier=%s/threads=%d", d.Level, d.Type, d.Tier, d.Threads))
	}
	for _, d := range f.Groups {
		lines = append(lines, line(d.Samples, d.Ns, append(append([]value{{d.GBs, "GB/s"}}, share("%peak", d.PeakShare)...), share("%bound", d.BoundShare)...), "Groups/group=%d/from=%s/type=%s/tier=%s/threads=%d", d.Group, d.Level, d.Type, d.Tier, d.Threads))
	}
	for _, q := range f.Queries {
		lines = append(lines, line(1, q.Ns, nil, "Queries/queries=%d/tier=%s", q.Queries, q.Tier))
	}
	for _, r := range f.Ragged {
		lines = append(lines, line(1, r.One, []value{{r.Speedup, "speedup"}}, "Ragged/from=%s/type=%s/tier=%s/threads=%d", r.Level, r.Type, r.Tier, r.Threads))
	}
	return lines
}

// ModelLines returns the times of whole models in Go's benchmark format.
func ModelLines(f *results.File) (lines []string) {
	for i := range f.Models {
		m := &f.Models[i]
		lines = append(lines, line(m.Samples, m.Ns, []value{{m.Rate, m.Unit()}}, "Model/model=%s/task=%s/size=%dx%d/tier=%s/threads=%d", m.Model, m.Task, m.Texts, m.Tokens, m.Tier, m.Threads))
	}
	return lines
}
