package main

import (
	"fmt"
	"io"
	"runtime"
)

// writeBenchHeader writes the configuration lines of Go's benchmark format, and
// which of our units are better when higher.
func writeBenchHeader(w io.Writer) {
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/attn-go/attn/bench\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, cpuName())
	fmt.Fprintf(w, "Unit GFLOP/s better=higher\nUnit %%peak better=higher\n")
}

// benchLine is a result in Go's benchmark format.
func benchLine(r result) string {
	return fmt.Sprintf("BenchmarkAttention/shape=%s/tier=%s/threads=%d\t%8d\t%10.6g ns/op\t%8.4g GFLOP/s\t%7.4g %%peak",
		r.shape.name, r.tier, r.threads, r.calls, r.ns, r.gflops, r.percent)
}
