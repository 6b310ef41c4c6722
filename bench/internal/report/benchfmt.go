package report

import (
	"fmt"
	"io"
	"runtime"

	"github.com/attn-go/attn/bench/internal/machine"
	"github.com/attn-go/attn/bench/internal/results"
)

// BenchHeader writes the configuration lines of Go's benchmark format. They also say that
// higher values of our units are better.
func BenchHeader(w io.Writer) {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/attn-go/attn/bench\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, machine.CPUName())
	fmt.Fprintf(w, "Unit GFLOP/s better=higher\nUnit %%peak better=higher\n")
}

// BenchLine returns a result in Go's benchmark format.
func BenchLine(r results.Speed) string {
	return fmt.Sprintf("BenchmarkAttention/shape=%s/tier=%s/threads=%d\t%8d\t%10.6g ns/op\t%8.4g GFLOP/s\t%7.4g %%peak",
		r.Shape, r.Tier, r.Threads, r.Calls, r.Ns, r.GFLOPs, r.Percent)
}
