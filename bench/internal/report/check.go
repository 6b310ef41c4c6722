package report

import (
	"fmt"
	"io"

	"github.com/attn-go/attn/bench/internal/check"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
)

// Checks prints what was checked on activations of trained models.
func Checks(w io.Writer, f *results.File) {
	if len(f.Checks) == 0 {
		return
	}
	fmt.Fprintf(w, "\nReal input, all tiers and numbers of threads against %s\n\n", check.Reference)
	rows := []string{"name\tinput\tbits\tmax error\trms error\tPyTorch's max\t    rms\tratio max\t rms"}
	for _, c := range f.Checks {
		verdict := "equal"
		if len(c.Failures) > 0 {
			verdict = "DIFFER"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%9s\t%8s\t%13s\t%7s\t%9s\t%4s", c.Name, c.Input, verdict,
			table.Error(c.Error.Max), table.Error(c.Error.RMS), table.Error(c.PyTorch.Max), table.Error(c.PyTorch.RMS),
			table.Ratio(c.Error.Max, c.PyTorch.Max), table.Ratio(c.Error.RMS, c.PyTorch.RMS)))
	}
	table.Write(w, rows...)
	fmt.Fprintln(w, "\nerror: against float64. The sha256 of the results' bits, the same on every CPU:")
	rows = nil
	for _, c := range f.Checks {
		if len(c.Hashes) == 0 {
			continue
		}
		known, hash := "", c.Hashes[len(c.Hashes)-1].SHA256
		if hash == c.Contract {
			known = "as the contract says"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", c.Name, hash, known))
	}
	table.Write(w, rows...)
}

// ShapeErrors prints the errors on random input.
func ShapeErrors(w io.Writer, f *results.File) {
	if len(f.Errors) == 0 {
		return
	}
	fmt.Fprintf(w, "\nUnit-normal input, errors against float64 (expected: max up to %s, rms up to %s)\n\n", table.Error(check.ExpectedMax), table.Error(check.ExpectedRMS))
	rows := []string{"shape\trows\tmax error\trms error"}
	for _, a := range f.Errors {
		note := ""
		if a.Error.Max > check.ExpectedMax || a.Error.RMS > check.ExpectedRMS {
			note = "more than expected"
		}
		rows = append(rows, fmt.Sprintf("%s\t%d of %d\t%9s\t%8s\t%s", a.Shape, a.Rows, a.Of, table.Error(a.Error.Max), table.Error(a.Error.RMS), note))
	}
	table.Write(w, rows...)
}
