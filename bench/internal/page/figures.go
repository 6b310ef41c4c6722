package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/attn-go/attn/bench/internal/chart"
	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

// A drawer sketches a figure of file i. Its table has no rows if the file has nothing for it.
type drawer func(f *results.File, i int) sketch

// A sketch is a figure that is not drawn yet: a chart with its text, and its table.
type sketch struct {
	id, title, text string
	chart           *chart.Chart
	table           table
}

// drawers are the figures of a machine, in order.
var drawers = []drawer{roofline, tiersByShape, scaling, decode, backward, linear, linearInt8, models, options, accuracy, peers}

// oneThread returns the rows of the shapes on one thread, with their indices.
func oneThread(rows []results.Speed) (found []int) {
	for i, s := range rows {
		if s.Threads == 1 {
			found = append(found, i)
		}
	}
	return found
}

// roofline shows the limits of one thread, and the calls below them.
func roofline(f *results.File, i int) sketch {
	tier := f.Default()
	peak := f.Peak(tier, 1).GFLOPs
	t := table{Caption: "Calls on one thread of " + tier + ": operations for each byte of queries, keys, values and output, and what is reached",
		Head: []string{"shape", "flop", "bytes", "flop/byte", "GFLOP/s", "peak, GFLOP/s"}}
	calls := chart.Series{Name: "a call on one thread", Style: 1}
	least, most := 0.5, 64.0
	for _, k := range oneThread(f.Speed) {
		s := f.Speed[k]
		if s.Tier != tier || s.Bytes <= 0 {
			continue
		}
		x := s.Flops / s.Bytes
		least, most = min(least, x/2), max(most, 2*x)
		calls.Points = append(calls.Points, chart.Point{X: x, Y: s.GFLOPs, Label: fmt.Sprintf("%s: %s GFLOP/s at %.3g flop/byte, %s of peak", s.Shape, tables.GFLOPs(s.GFLOPs), x, shareText(s.Share(f)))})
		from := from(i, "speed", k)
		t.Rows = append(t.Rows, []cell{text("%s", s.Shape), from.num("flops", s.Flops, fmt.Sprintf("%.3g", s.Flops)), from.num("bytes", s.Bytes, fmt.Sprintf("%.3g", s.Bytes)),
			text("%.3g", x), from.num("gflops", s.GFLOPs, tables.GFLOPs(s.GFLOPs)), from.fixed("peak_gflops", s.Peak, 1)})
	}
	if peak == 0 {
		return sketch{}
	}
	c := &chart.Chart{LogX: true, LogY: true, XLabel: "operations per byte", YLabel: "GFLOP/s"}
	styles := []int{2, 3, 4, 5}
	for _, b := range f.Bandwidths {
		if b.Threads != 1 || len(styles) == 0 {
			continue
		}
		ridge := peak / b.GBs
		line := chart.Series{Name: fmt.Sprintf("%s, %.0f GB/s", b.Level, b.GBs), Style: styles[0], Line: true, Bare: true, Points: []chart.Point{{X: least, Y: least * b.GBs}, {X: ridge, Y: peak}}}
		line.Points[1].Label = fmt.Sprintf("%s: %.1f GB/s; from %.1f flop/byte the peak is the limit", b.Level, b.GBs, ridge)
		if ridge < least {
			line.Points[0] = chart.Point{X: least, Y: peak}
		}
		c.Series, styles = append(c.Series, line), styles[1:]
		most = max(most, 2*ridge)
	}
	c.Series = append(c.Series, chart.Series{Name: fmt.Sprintf("FMA peak, %.0f GFLOP/s", peak), Style: 0, Line: true, Bare: true, Points: []chart.Point{{X: least, Y: peak}, {X: most, Y: peak, Label: fmt.Sprintf("FMA peak: %.1f GFLOP/s", peak)}}}, calls)
	return sketch{"roofline", "Roofline", "A call lies below the peak of arithmetic and, if its numbers come from there, below the line of a cache or of memory. Calls that use their numbers often lie to the right.", c, t}
}

// tiersByShape shows the share of the peak that the tiers reach.
func tiersByShape(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "% of the FMA peak of one thread", FromZero: true}
	t := table{Caption: "All shapes, tiers and numbers of threads. Time is the median of a call; the quartiles are of its samples", Head: []string{"shape", "input", "tier", "threads", "time", "quartiles", "samples", "GFLOP/s", "peak", "its spread, %", "% of peak"}}
	for k, s := range f.Speed {
		from := from(i, "speed", k)
		percent, doubt := s.Share(f)
		t.Rows = append(t.Rows, []cell{text("%s", s.Shape), text("%s", s.Input), text("%s", s.Tier), from.int("threads", s.Threads), from.num("ns", s.Ns, tables.Duration(s.Ns)),
			text("%s – %s", tables.Duration(s.Q1), tables.Duration(s.Q3)), from.int("samples", s.Samples),
			from.num("gflops", s.GFLOPs, tables.GFLOPs(s.GFLOPs)), from.fixed("peak_gflops", s.Peak, 1), from.spread("peak_spread", s.PeakSpread), from.share("peak_percent", 1, percent, doubt)})
		if s.Threads == 1 {
			c.AddBar(s.Shape, s.Tier, shareBar(s.Shape+", "+s.Tier, "peak", percent, doubt, s.Ns))
		}
	}
	return sketch{"shapes", "Share of the peak", "Each shape on one thread of each tier. The peak is that of the widest vectors where a tier has none. Short calls spend their time on other things than arithmetic.", c, t}
}

// scaling shows how much faster calls are on more threads.
func scaling(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "threads", YLabel: "times as fast as one thread", FromZero: true}
	t := table{Caption: "Tier " + f.Default() + ": how many times as fast as on one thread", Head: []string{"shape", "threads", "time", "on one thread", "speedup"}}
	one, most := map[string]results.Speed{}, 1
	var ticks []float64
	for _, s := range f.Speed {
		if s.Tier != f.Default() {
			continue
		}
		if s.Threads == 1 {
			one[s.Shape] = s
		}
		if most < s.Threads || ticks == nil {
			most = max(most, s.Threads)
			ticks = append(ticks, float64(s.Threads))
		}
	}
	c.XTicks = ticks
	for k, s := range f.Speed {
		first, ok := one[s.Shape]
		if !ok || s.Tier != f.Default() || s.Threads == 1 {
			continue
		}
		speedup := first.Ns / s.Ns
		from := from(i, "speed", k)
		t.Rows = append(t.Rows, []cell{text("%s", s.Shape), from.int("threads", s.Threads), from.num("ns", s.Ns, tables.Duration(s.Ns)), text("%s", tables.Duration(first.Ns)), text("%.2f", speedup)})
		if line := c.Named(s.Shape); line.Style < chart.Styles { // the table has all
			if line.Line = true; len(line.Points) == 0 {
				line.Points = []chart.Point{{X: 1, Y: 1}}
			}
			line.Points = append(line.Points, chart.Point{X: float64(s.Threads), Y: speedup, Label: fmt.Sprintf("%s: %.2f times as fast on %d threads", s.Shape, speedup, s.Threads)})
		}
	}
	c.Series = append(c.Series[:min(chart.Styles, len(c.Series))], chart.Series{Name: "ideal", Dashed: true, Points: []chart.Point{{X: 0, Y: 0}, {X: float64(most), Y: float64(most)}}})
	intro := "The dashed line is the ideal. Calls of a few microseconds run on one thread, however many are allowed."
	for _, p := range f.WeakThreads() {
		intro += fmt.Sprintf(" On this machine %d threads at once reach %.2f times the arithmetic of one, which is the limit of any call.", p.Threads, p.GFLOPs/f.Peak(p.Vectors, 1).GFLOPs)
	}
	return sketch{"threads", "Threads", intro, c, t}
}

// decode shows the bandwidth of decoding beside the bandwidth of reading.
func decode(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "GB/s on one thread", FromZero: true, Series: []chart.Series{{Name: "decoding, tier " + f.Default(), Style: 0}, {Name: "only reading", Style: 4}}}
	t := table{Caption: "One query per head. % of reading: of a loop that only reads as much, on as many threads", Head: []string{"from", "type", "query heads for each KV head", "tier", "threads", "keys", "time", "GB/s", "reading", "% of reading", "% of peak", "tokens/s"}}
	for k, d := range f.Decode {
		from := from(i, "decode", k)
		read, readDoubt := d.ReadShare(f)
		peak, peakDoubt := d.PeakShare(f)
		t.Rows = append(t.Rows, []cell{text("%s", d.Level), text("%s", d.Type), from.int("group", d.Group), text("%s", d.Tier), from.int("threads", d.Threads), from.int("keys", d.Keys), from.num("ns", d.Ns, tables.Duration(d.Ns)),
			from.fixed("gbs", d.GBs, 1), from.fixed("read_gbs", d.Read, 1), from.share("read_percent", 0, read, readDoubt), from.share("peak_percent", 0, peak, peakDoubt), from.fixed("tokens_s", d.Tokens, 0)})
		if d.Threads == 1 && d.Tier == f.Default() && d.Group == results.DecodeGroup {
			c.Bars = append(c.Bars, d.Level+" "+d.Type)
			c.Series[0].Points = append(c.Series[0].Points, chart.Point{X: d.GBs, Label: fmt.Sprintf("%s from %s: %.1f GB/s, %s of reading, %s of the FMA peak", d.Type, d.Level, d.GBs, shareText(read, readDoubt), shareText(peak, peakDoubt))})
			c.Series[1].Points = append(c.Series[1].Points, chart.Point{X: d.Read, Label: fmt.Sprintf("reading as much from %s: %.1f GB/s", d.Level, d.Read)})
		}
	}
	if len(c.Bars) == 0 {
		return sketch{}
	}
	return sketch{"decode", "Decoding", "One token after the other: each key and value is read once for a few queries. Where the bar does not reach that of reading, arithmetic is the limit: narrow types need as much of it as float32.", c, t}
}

// backward shows the share of the peak that gradients reach, beside the forward calls.
func backward(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "% of the FMA peak, one thread of " + f.Default(), FromZero: true}
	t := table{Caption: "Gradients of attention, and the forward calls in turns with them", Head: []string{"shape", "input", "tier", "threads", "time", "GFLOP/s", "peak", "% of peak", "forward", "% of peak"}}
	for k := range f.Backward {
		b := &f.Backward[k]
		from := from(i, "backward", k)
		percent, doubt := b.Share(f)
		forward, forwardDoubt := b.ForwardShare(f)
		t.Rows = append(t.Rows, []cell{text("%s", b.Shape), text("%s", b.Input), text("%s", b.Tier), from.int("threads", b.Threads), from.num("ns", b.Ns, tables.Duration(b.Ns)), from.num("gflops", b.GFLOPs, tables.GFLOPs(b.GFLOPs)),
			from.fixed("peak_gflops", b.Peak, 1), from.share("peak_percent", 1, percent, doubt), from.num("forward_ns", b.Forward, tables.Duration(b.Forward)), from.share("forward_percent", 1, forward, forwardDoubt)})
		if b.Threads == 1 && b.Tier == f.Default() {
			c.AddBar(b.Shape, "gradients", shareBar(b.Shape+", gradients", "peak", percent, doubt, b.Ns))
			c.AddBar(b.Shape, "forward", shareBar(b.Shape+", forward", "peak", forward, forwardDoubt, b.Forward))
		}
	}
	return sketch{"backward", "Gradients", "What training computes after each forward call. The operations of gradients are counted as 2.5 times those of the forward call: five products in place of two, as the scores are computed again.", c, t}
}

// linear shows the share of its limit that a linear layer reaches.
func linear(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "% of the limit, one thread", FromZero: true}
	t := table{Caption: "Linear layers. The limit is the FMA peak or, with few rows, reading the weights", Head: []string{"rows × inputs → outputs", "weights", "tier", "threads", "time", "limit", "reached", "of", "%"}}
	for k := range f.Linear {
		l := &f.Linear[k]
		from := from(i, "linear", k)
		percent, doubt := l.Share(f)
		unit := map[string]string{results.LimitPeak: "GFLOP/s", results.LimitRead: "GB/s"}[l.Limit]
		t.Rows = append(t.Rows, []cell{text("%s", l.Shape()), text("%s", l.Weights), text("%s", l.Tier), from.int("threads", l.Threads), from.num("ns", l.Ns, tables.Duration(l.Ns)), text("%s, %s", l.Limit, unit),
			from.fixed("rate", l.Rate, 1), from.fixed("limit_rate", l.LimitRate, 1), from.share("limit_percent", 1, percent, doubt)})
		if l.Threads == 1 && l.Tier == f.Default() && !l.Int8 {
			c.AddBar(l.Shape(), l.Weights, shareBar(l.Shape()+", "+l.Weights, "limit of "+l.Limit, percent, doubt, l.Ns))
		}
	}
	return sketch{"linear", "Linear layers", "Rows of float32. With many rows the limit is the FMA peak. With less than 16 rows it is reading the weights.", c, t}
}

// linearInt8 shows what rows of 8 bits gain. Their products are sums of integers, so a share of the
// FMA peak would say little.
func linearInt8(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "times as fast as float32, one thread", FromZero: true}
	t := table{Caption: "Linear layers whose rows are rounded to 8 bits, beside rows and weights of float32", Head: []string{"rows × inputs → outputs", "weights", "tier", "threads", "time", "float32", "times as fast"}}
	for k := range f.Linear {
		l := &f.Linear[k]
		plain := slices.IndexFunc(f.Linear, func(o results.Linear) bool {
			return o.Weights == "float32" && o.Shape() == l.Shape() && o.Tier == l.Tier && o.Threads == l.Threads
		})
		if !l.Int8 || plain < 0 {
			continue
		}
		from, gain := from(i, "linear", k), f.Linear[plain].Ns/l.Ns
		t.Rows = append(t.Rows, []cell{text("%s", l.Shape()), text("%s", l.Weights), text("%s", l.Tier), from.int("threads", l.Threads), from.num("ns", l.Ns, tables.Duration(l.Ns)),
			text("%s", tables.Duration(f.Linear[plain].Ns)), text("%.2f", gain)})
		if l.Threads == 1 && l.Tier == f.Default() {
			c.AddBar(l.Shape(), l.Weights, chart.Point{X: gain, Label: fmt.Sprintf("%s, %s: %s, %.2f times as fast as float32", l.Shape(), l.Weights, tables.Duration(l.Ns), gain)})
		}
	}
	return sketch{"int8", "Rows of 8 bits", "Rows are rounded to 8 bits, and products are sums of integers. That costs accuracy.", c, t}
}

// models shows the speed of whole models.
func models(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "sentences or tokens per second, tier " + f.Default(), FromZero: true}
	t := table{Caption: "Whole models. What is generated follows 8 tokens, which are read before", Head: []string{"model", "tier", "threads", "time", "rate", "unit"}}
	for k := range f.Models {
		m := &f.Models[k]
		from := from(i, "models", k)
		t.Rows = append(t.Rows, []cell{text("%s", m.Name()), text("%s", m.Tier), from.int("threads", m.Threads), from.num("ns", m.Ns, tables.Duration(m.Ns)), from.fixed("rate", m.Rate, 1), text("%s", m.Unit())})
		if m.Tier == f.Default() {
			c.AddBar(m.Name(), fmt.Sprintf("threads=%d", m.Threads), chart.Point{X: m.Rate, Label: fmt.Sprintf("%s, threads=%d: %.1f %s", m.Name(), m.Threads, m.Rate, m.Unit())})
		}
	}
	return sketch{"models", "Whole models", "Real models on one machine: sentences become vectors, a prompt is read, and text is generated token by token.", c, t}
}

// options shows what options cost.
func options(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "% more time, one thread of " + f.Default()}
	t := table{Caption: "Time with an option beside the same call without it, one thread", Head: []string{"option", "shape", "tier", "without", "with", "cost, %"}}
	for k, o := range f.Options {
		from := from(i, "options", k)
		t.Rows = append(t.Rows, []cell{text("%s", o.Option), text("%s: %s", o.Shape, o.Input), text("%s", o.Tier), from.num("plain_ns", o.Plain, tables.Duration(o.Plain)), from.num("with_ns", o.With, tables.Duration(o.With)), from.fixed("cost_percent", o.Cost, 1)})
		if o.Tier == f.Default() {
			c.AddBar(o.Option, o.Input, chart.Point{X: o.Cost, Label: fmt.Sprintf("%s: %+.1f%% (%s)", o.Option, o.Cost, o.Input)})
		}
	}
	return sketch{"options", "Cost of options", "What an option adds to the time of a call. If it leaves out a part of the scores, as a causal mask does, the comparison is with the time of the other part.", c, t}
}

// accuracy shows errors beside PyTorch's.
func accuracy(f *results.File, i int) sketch {
	a := f.Accuracy
	if a == nil {
		return sketch{}
	}
	c := &chart.Chart{LogX: true, LogY: true, XLabel: "PyTorch's rms error", YLabel: "attn's rms error"}
	t := table{Caption: fmt.Sprintf("Errors against float64. PyTorch %s was measured on %s", a.PyTorch, a.CPU), Head: []string{"of", "case", "max", "rms", "PyTorch's max", "rms"}}
	least, most := math.Inf(1), 0.0
	for k, e := range a.Cases {
		kind := c.Named(e.Kind)
		kind.Points = append(kind.Points, chart.Point{X: e.PyTorch.RMS, Y: e.Error.RMS, Label: fmt.Sprintf("%s, %s: rms %s, PyTorch's %s", e.Kind, e.Case, tables.Error(e.Error.RMS), tables.Error(e.PyTorch.RMS))})
		least, most = min(least, e.PyTorch.RMS), max(most, e.PyTorch.RMS)
		from := from(i, "accuracy.cases", k)
		t.Rows = append(t.Rows, []cell{text("%s", e.Kind), text("%s", e.Case), from.num("error.max", e.Error.Max, tables.Error(e.Error.Max)), from.num("error.rms", e.Error.RMS, tables.Error(e.Error.RMS)),
			from.num("pytorch.max", e.PyTorch.Max, tables.Error(e.PyTorch.Max)), from.num("pytorch.rms", e.PyTorch.RMS, tables.Error(e.PyTorch.RMS))})
	}
	c.Series = append(c.Series, chart.Series{Name: "equal errors", Dashed: true, Points: []chart.Point{{X: least, Y: least}, {X: most, Y: most}}})
	return sketch{"accuracy", "Errors against float64", "Points below the dashed line have a smaller error than PyTorch on the same numbers. These errors are the same on every CPU, because the bits are.", c, t}
}

// peers shows other programs beside attn.
func peers(f *results.File, i int) sketch {
	c := &chart.Chart{XLabel: "times as long as attn", FromZero: true}
	t := table{Caption: "Time of a call beside attn's on as many threads", Head: []string{"program", "shape", "threads", "time", "attn's", "times as long"}}
	for k := range f.Peers {
		p := &f.Peers[k]
		shape, own := same(f, p)
		if own == 0 || p.Ns <= 0 {
			continue
		}
		from := from(i, "peers", k)
		t.Rows = append(t.Rows, []cell{text("%s", p.Program), text("%s", shape), from.int("threads", p.Threads), from.num("ns", p.Ns, tables.Duration(p.Ns)), text("%s", tables.Duration(own)), text("%.2f", p.Ns/own)})
		call := fmt.Sprintf("%s, threads=%d", shape, p.Threads)
		c.AddBar(call, p.Program, chart.Point{X: p.Ns / own, Label: fmt.Sprintf("%s, %s: %s, %.2f times as long as attn", p.Program, call, tables.Duration(p.Ns), p.Ns/own)})
	}
	return sketch{"peers", "Other programs", "The same calls in other programs: how many times as long as attn they take. Less than 1 is faster than attn.", c, t}
}

// same returns the name and attn's time of what another program was timed with, on the default
// tier; 0 if that was not measured.
func same(f *results.File, p *results.Peer) (shape string, ns float64) {
	for i := range f.Speed {
		if s := &f.Speed[i]; s.Tier == f.Default() && s.Threads == p.Threads && (s.Shape == p.Shape || s.Alias == p.Shape) {
			return s.Shape, s.Ns
		}
	}
	for i := range f.Models {
		if m := &f.Models[i]; m.Tier == f.Default() && m.Threads == p.Threads && m.Shape == p.Shape {
			return m.Shape, m.Ns
		}
	}
	for i := range f.Backward {
		b := &f.Backward[i]
		if b.Tier == f.Default() && b.Threads == p.Threads && (p.Shape == b.Name() || p.Shape == results.BackwardPrefix+b.Alias) {
			return b.Name(), b.Ns
		}
	}
	return "", 0
}

// together compares the default tiers of several machines.
func together(files []*results.File) sketch {
	c := &chart.Chart{XLabel: "% of the FMA peak of one thread", FromZero: true}
	t := table{Caption: "The default tier of each machine on one thread", Head: []string{"shape", "machine", "tier", "time", "GFLOP/s", "% of peak"}}
	for i, f := range files {
		series := name(files, i) + ", " + f.Default()
		for _, k := range oneThread(f.Speed) {
			s := f.Speed[k]
			if s.Tier != f.Default() {
				continue
			}
			percent, doubt := s.Share(f)
			c.AddBar(s.Shape, series, shareBar(s.Shape+", "+series, "peak", percent, doubt, s.Ns))
			from := from(i, "speed", k)
			t.Rows = append(t.Rows, []cell{text("%s", s.Shape), text("%s", name(files, i)), text("%s", s.Tier), from.num("ns", s.Ns, tables.Duration(s.Ns)), from.num("gflops", s.GFLOPs, tables.GFLOPs(s.GFLOPs)), from.share("peak_percent", 1, percent, doubt)})
		}
	}
	return sketch{"machines", "All machines", "Shares of the peak depend much less on the machine than times do.", c, t}
}
