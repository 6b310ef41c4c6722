package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/bench/internal/check"
	"github.com/attn-go/attn/bench/internal/table"
)

// Checks prints what was checked on activations of trained models.
func Checks(w io.Writer, checks []check.Result) {
	if len(checks) == 0 {
		return
	}
	first := checks[0]
	fmt.Fprintf(w, "\nReal input: %s, with %d and %d threads each, against %s\n\n",
		strings.Join(first.Tiers, ", "), first.Threads[0], first.Threads[1], check.Reference)
	rows := []string{"name\tinput\tbits\tmax error\trms error\tPyTorch's max\t    rms\tratio max\t rms"}
	for _, c := range checks {
		verdict := "equal"
		if len(c.Failures) > 0 {
			verdict = "DIFFER"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%9s\t%8s\t%13s\t%7s\t%9s\t%4s", c.Problem.Name, c.Problem.Describe(), verdict,
			table.Error(c.Error.Max), table.Error(c.Error.RMS()), table.Error(c.PyTorch.Max), table.Error(c.PyTorch.RMS()),
			table.Ratio(c.Error.Max, c.PyTorch.Max), table.Ratio(c.Error.RMS(), c.PyTorch.RMS())))
	}
	table.Write(w, rows...)
	fmt.Fprintln(w, "\nerror: against float64. The sha256 of the results' bits, the same on every CPU:")
	rows = nil
	for _, c := range checks {
		known := ""
		if c.SHA256 == c.Problem.SHA256 {
			known = "as the contract says"
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", c.Problem.Name, c.SHA256, known))
	}
	table.Write(w, rows...)
}

// Accuracy prints the errors on random input.
func Accuracy(w io.Writer, all []check.Accuracy) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nUnit-normal input, errors against float64 (expected: max up to %s, rms up to %s)\n\n", table.Error(check.ExpectedMax), table.Error(check.ExpectedRMS))
	rows := []string{"shape\trows\tmax error\trms error"}
	for _, a := range all {
		note := ""
		if a.Error.Max > check.ExpectedMax || a.Error.RMS() > check.ExpectedRMS {
			note = "more than expected"
		}
		rows = append(rows, fmt.Sprintf("%s\t%d of %d\t%9s\t%8s\t%s", a.Shape, a.Rows, a.Of, table.Error(a.Error.Max), table.Error(a.Error.RMS()), note))
	}
	table.Write(w, rows...)
}
