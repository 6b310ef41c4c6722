package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/table"
)

// Options prints the cost of options.
func Options(w io.Writer, f *results.File) {
	if len(f.Options) == 0 {
		return
	}
	fmt.Fprintln(w, "\nCost of options on one thread: the time with an option in comparison with that of the same call")
	fmt.Fprintln(w, "without it. If an option leaves out a part of the scores, the comparison is with the time of the")
	fmt.Fprintln(w, "other part. That costs something, as blocks of scores are computed as a whole.")
	var rows []string
	for i, o := range f.Options {
		if i == 0 || o.Shape != f.Options[i-1].Shape {
			table.Write(w, rows...)
			fmt.Fprintf(w, "\n%s: %s\n\n", o.Shape, o.Input)
			rows = []string{"option\ttier\tplain\twith\tcost"}
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%+.1f%%", o.Option, o.Tier, table.Duration(o.Plain), table.Duration(o.With), o.Cost))
	}
	table.Write(w, rows...)
}

// Linear prints the speed of linear layers.
func Linear(w io.Writer, f *results.File) {
	for _, t := range []struct{ limit, title, header string }{
		{results.LimitPeak, "Linear layers with many rows", "GFLOP/s\tpeak\t% of peak"},
		{results.LimitRead, "Linear layers with few rows: GB/s of weights, in comparison with a loop that only reads as much", "GB/s\tread\t% of read"},
	} {
		rows := []string{"rows × inputs → outputs\tweights\ttier\tthreads\ttime\t" + t.header}
		for _, l := range f.Linear {
			if l.Limit == t.limit {
				rows = append(rows, fmt.Sprintf("%d × %d → %d\t%s\t%s\t%d\t%s\t%.1f\t%.1f\t%s", l.Rows, l.Inputs, l.Outputs,
					l.Weights, l.Tier, l.Threads, table.Duration(l.Ns), l.Rate, l.LimitRate, Share(l.Share())(1)))
			}
		}
		write(w, t.title, rows)
	}
}

// write prints a table with a title, if it has any rows but its header.
func write(w io.Writer, title string, rows []string) {
	if len(rows) > 1 {
		fmt.Fprintf(w, "\n%s\n\n", title)
		table.Write(w, rows...)
		explainShares(w, slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "–") }))
	}
}

// Layer prints the speed of the multi-head module, additive attention and norms.
func Layer(w io.Writer, f *results.File) {
	rows := []string{"batch × tokens × width, heads\ttier\tthreads\ttime\tGFLOP/s\tpeak\t% of peak"}
	for _, m := range f.MultiHead {
		rows = append(rows, fmt.Sprintf("%d × %d × %d, %d\t%s\t%d\t%s\t%.1f\t%.1f\t%s", m.Batch, m.Tokens, m.Width, m.Heads, m.Tier, m.Threads, table.Duration(m.Ns), m.GFLOPs, m.Peak, Share(m.Share())(1)))
	}
	write(w, "Multi-head self-attention with its four projections", rows)
	rows = []string{"queries [B, Lq, hidden], keys, values\ttier\tthreads\ttime\tns/tanh\ttanh alone\t% of its rate"}
	for _, a := range f.Additive {
		rows = append(rows, fmt.Sprintf("[%d, %d, %d], %d, %d\t%s\t%d\t%s\t%.3f\t%.3f\t%.1f%%", a.Batch, a.Queries, a.Hidden, a.Keys, a.Values, a.Tier, a.Threads, table.Duration(a.Ns), a.Tanh, a.Alone, a.Percent))
	}
	write(w, "Additive attention of projected queries and keys: time for each tanh, in comparison with a loop\nover a slice in L1 that only computes tanh. Calls with one query also wait for memory", rows)
	rows = []string{"tokens × width\tnorm\ttier\tthreads\ttime\tns/element\tcopied"}
	for _, n := range f.Norms {
		rows = append(rows, fmt.Sprintf("%d × %d\t%s\t%s\t%d\t%s\t%.3f\t%.3f", n.Tokens, n.Width, n.Norm, n.Tier, n.Threads, table.Duration(n.Ns), n.Element, n.Copy))
	}
	write(w, "Norms of tokens in L2, in comparison with a copy of them", rows)
}

// Backward prints the speed of gradients.
func Backward(w io.Writer, f *results.File) {
	rows := []string{"shape\tinput\tthreads\ttier\t     time\tspread\tGFLOP/s\t  peak\t% of peak\t  forward\t% of peak\t÷ forward"}
	last := ""
	for _, b := range f.Backward {
		name, input := "", ""
		if b.Shape != last {
			name, input, last = label(b.Shape, b.Alias), b.Input, b.Shape
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%7d\t%s\t%9s\t%5.1f%%\t%7s\t%6.1f\t%9s\t%9s\t%9s\t%9.2f", name, input, b.Threads, b.Tier, table.Duration(b.Ns), 100*b.Spread(),
			table.GFLOPs(b.GFLOPs), b.Peak, Share(b.Share())(1), table.Duration(b.Forward), Share(b.ForwardShare())(1), b.Ns/b.Forward))
	}
	write(w, "Gradients of attention (kernel.AttentionBackward): median time of a call, in turns with the forward\ncall. GFLOP/s counts 2.5 times the forward call's 4·heads·Lq·Lk·D, half if causal", rows)
}

// Decode prints the speed of decoding.
func Decode(w io.Writer, f *results.File) {
	rows := []string{"from\tKV heads × keys\ttype\ttier\tthreads\t    time\t  GB/s\t  read\t% of read\t% of FMA\t bound\t% of bound\ttokens/s"}
	for _, d := range f.Decode {
		rows = append(rows, fmt.Sprintf("%s\t%d × %d\t%s\t%s\t%7d\t%8s\t%6.1f\t%6.1f\t%9s\t%8s\t%s\t%8.0f", d.Level, d.KVHeads, d.Keys, d.Type, d.Tier, d.Threads,
			table.Duration(d.Ns), d.GBs, d.Read, Share(d.ReadShare())(0), Share(d.PeakShare())(0), bound(&d), d.Tokens))
	}
	if len(f.Decode) > 0 {
		d := f.Decode[0]
		write(w, fmt.Sprintf("Decoding: %d query heads for each KV head of size %d, one query per head. Medians.\nread: GB/s that the same threads reached right before, when they only read as much memory.\n"+
			"%% of FMA: share of the FMA peak of as many threads.\nbound: GB/s that reading or the FMAs alone would allow, the smaller of the two, and which it is.\ntokens/s: of one such layer.", d.Group, d.Size), rows)
	}
	rows = []string{"query heads\tfrom\ttype\ttier\t    time\t  GB/s\t% of read\t% of FMA\t bound\t% of bound\tper query head"}
	for _, d := range f.Groups {
		rows = append(rows, fmt.Sprintf("%11d\t%s\t%s\t%s\t%8s\t%6.1f\t%9s\t%8s\t%s\t%14s", d.Group, d.Level, d.Type, d.Tier,
			table.Duration(d.Ns), d.GBs, Share(d.ReadShare())(0), Share(d.PeakShare())(0), bound(&d), table.Duration(d.Ns/float64(d.Group*d.KVHeads))))
	}
	write(w, "Decoding with groups of several sizes: query heads for each KV head, one thread", rows)
	rows = []string{"queries\trows per KV head\ttier\ttime for each\t% of 1"}
	for _, q := range f.Queries {
		rows = append(rows, fmt.Sprintf("%7d\t%16d\t%s\t%13s\t%5.0f%%", q.Queries, q.Rows, q.Tier, table.Duration(q.Ns), q.Percent))
	}
	if len(f.Queries) > 0 {
		write(w, fmt.Sprintf("Several queries per head, float32 in L3, %d keys, one thread: time for each query", f.Queries[0].Keys), rows)
	}
	rows = []string{"from\t    MB\ttype\ttier\tone thread\tthreads\tspeedup\treading"}
	for _, r := range f.Ragged {
		rows = append(rows, fmt.Sprintf("%s\t%6.1f\t%s\t%s\t%10s\t%7d\t%6.2f×\t%6.2f×", r.Level, float64(r.Bytes)/1e6, r.Type, r.Tier, table.Duration(r.One), r.Threads, r.Speedup, r.Reading))
	}
	write(w, "Ragged batches of sequences of 1 to 12000 parts of one length: the speedup by threads,\nand that by as many threads that only read as much memory", rows)
}

// bound returns two columns: the bound of decoding with what sets it, and the share of it.
func bound(d *results.Decode) string {
	gbs, limit := d.Bound()
	name := map[string]string{results.LimitRead: "read", results.LimitPeak: "FMA"}[limit]
	return fmt.Sprintf("%6.1f %s\t%10s", gbs, name, Share(d.BoundShare())(0))
}

// Models prints the speed of whole models.
func Models(w io.Writer, f *results.File) {
	rows := []string{"model\ttier\tthreads\t     time\trate"}
	for i := range f.Models {
		m := &f.Models[i]
		rows = append(rows, fmt.Sprintf("%s\t%s\t%7d\t%9s\t%.1f %s", m.Name(), m.Tier, m.Threads, table.Duration(m.Ns), m.Rate, m.Unit()))
	}
	write(w, "Whole models: median time of a call. What is generated follows 8 tokens, which are read before", rows)
}

// Accuracy prints errors against float64 beside PyTorch's.
func Accuracy(w io.Writer, f *results.File) {
	a := f.Accuracy
	if a == nil || len(a.Cases) == 0 {
		return
	}
	fmt.Fprintf(w, "\nError against float64 of %d rows, tier %s, which is that of any tier. PyTorch %s was measured on %s.\n", a.Rows, a.Tier, a.PyTorch, a.CPU)
	var worst results.Error
	for _, kind := range []string{"attention", "linear layer", "norm"} {
		rows := []string{kind + "\tmax error\trms error\tPyTorch's max\trms\tratio max\trms"}
		for _, c := range a.Cases {
			if c.Kind != kind {
				continue
			}
			worst.Max, worst.RMS = max(worst.Max, c.Error.Max/c.PyTorch.Max), max(worst.RMS, c.Error.RMS/c.PyTorch.RMS)
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", c.Case, table.Error(c.Error.Max), table.Error(c.Error.RMS),
				table.Error(c.PyTorch.Max), table.Error(c.PyTorch.RMS), table.Ratio(c.Error.Max, c.PyTorch.Max), table.Ratio(c.Error.RMS, c.PyTorch.RMS)))
		}
		fmt.Fprintln(w)
		table.Write(w, rows...)
	}
	fmt.Fprintf(w, "\nworst ratio: max %.2f, rms %.2f\n", worst.Max, worst.RMS)
}

// Cache prints what pages cost, and how long a cache takes to grow and to fork.
func Cache(w io.Writer, f *results.File) {
	if len(f.Pages) > 0 {
		rows := []string{"shape\ttype\tlayout\tcontiguous"}
		for _, n := range f.Pages[0].Sizes {
			rows[0] += fmt.Sprintf("\tpages of %d", n)
		}
		for _, p := range f.Pages {
			row := fmt.Sprintf("%s\t%s\t%s\t%s", p.Shape, p.Type, p.Layout, table.Duration(p.Contiguous))
			for _, c := range p.Cost {
				row += fmt.Sprintf("\t%+.1f%%", c)
			}
			rows = append(rows, row)
		}
		write(w, fmt.Sprintf("Attention on pages in random order, on one thread of %s: time in comparison with contiguous keys\nand values of the same layout (HND: heads first, NHD: tokens first).", f.Pages[0].Tier), rows)
	}
	if len(f.Growth) > 0 {
		rows := []string{"n\tpage size\tlayout\tcopy\tscatter\t÷ copy\t÷ scatter"}
		for _, t := range f.Growth[0].Types {
			rows[0] += "\t" + t
		}
		for _, g := range f.Growth {
			row := fmt.Sprintf("%d\t%d\t%s\t%.0f ns\t%.0f ns\t%.2f\t%.2f", g.AtOnce, g.PageSize, g.Layout, g.Copy, g.Scatter, g.OverCopy, g.OverScatter)
			for _, ns := range g.Ns {
				row += fmt.Sprintf("\t%.0f ns", ns)
			}
			rows = append(rows, row)
		}
		write(w, "Appending n tokens to a cache until it is full: time for each token.\ncopy: only copies the float32 keys and values to the end of two slices, up to a page at once.\n"+
			"scatter: copies them to their positions in pages (in layout HND, each head has its own part of a page).", rows)
	}
	for _, k := range f.Forks {
		fmt.Fprintf(w, "\nForking %d tokens in pages of %d, and freeing the fork: %s", k.Tokens, k.PageSize, table.Duration(k.Ns))
	}
	if len(f.Forks) > 0 {
		fmt.Fprintln(w)
	}
}
