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
var units = [][2]string{{"GFLOP/s", "higher"}, {"%peak", "higher"}, {"GB/s", "higher"}, {"%read", "higher"}, {"%bound", "higher"}, {"tokens/s", "higher"}, {"sentences/s", "higher"},
	{"%cost", "lower"}}

// BenchHeader writes the configuration lines of Go's benchmark format. They also say of our units
// which values are better.
func BenchHeader(w io.Writer) {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/attn-go/attn/bench\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, machine.CPUName())
	for _, u := range units {
		fmt.Fprintf(w, "Unit %s better=%s\n", u[0], u[1])
	}
}

// Bench writes the times of a file in Go's benchmark format. The names have words with slashes between them, in
// which nothing but letters, digits and a few signs is left.
func Bench(w io.Writer, f *results.File) {
	for _, t := range f.Times() {
		name := "Benchmark" + t.Kind
		for _, k := range t.Keys {
			name += "/" + k[0] + "=" + strings.Map(inName, k[1])
		}
		fmt.Fprintf(w, "%s\t%8d\t%10.6g ns/op", name, t.Samples, t.Ns)
		for _, v := range t.Values {
			fmt.Fprintf(w, "\t%8.4g %s", v.X, v.Unit)
		}
		fmt.Fprintln(w)
	}
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
