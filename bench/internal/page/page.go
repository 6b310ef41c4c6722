package page

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	tables "github.com/attn-go/attn/bench/internal/table"
)

//go:embed page.html
var htmlText string

//go:embed page.css
var style string

//go:embed page.js
var script string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(style) },
	"script": func() template.JS { return template.JS(script) },
}).Parse(htmlText))

// Write draws the page of one or several files.
func Write(w io.Writer, files []*results.File) error {
	m := model{Title: "attn on " + files[0].Machine.Name(), Agreement: results.Agree(files), Hashes: hashes(files)}
	if len(files) > 1 {
		m.Title = fmt.Sprintf("attn on %d machines", len(files))
		f, err := together(files).draw()
		if err != nil {
			return err
		}
		if f != nil {
			m.Together = append(m.Together, *f)
		}
	}
	for i, f := range files {
		x, err := newMachine(files, f, i)
		if err != nil {
			return err
		}
		m.Machines = append(m.Machines, x)
	}
	var b bytes.Buffer // nothing is written if the template fails
	if err := page.Execute(&b, m); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

func newMachine(files []*results.File, f *results.File, i int) (machine, error) {
	m := machine{ID: fmt.Sprintf("m%d", i), Name: name(files, i), Detail: detail(f), Note: f.Note, Cards: cards(f), Tables: furtherTables(f, i), Open: i == 0}
	m.Warnings = warnings(f)
	for _, s := range sketches(f, i) {
		x, err := s.draw()
		if err != nil {
			return m, fmt.Errorf("%s: %w", m.Name, err)
		}
		if x != nil {
			x.ID = m.ID + "-" + x.ID
			m.Figures = append(m.Figures, *x)
		}
	}
	var raw bytes.Buffer
	err := f.Write(&raw)
	m.Raw = raw.String()
	return m, err
}

// warnings says what is wrong with the results.
func warnings(f *results.File) (all []string) {
	for _, p := range f.WeakThreads() {
		one := f.Peak(p.Vectors, 1).GFLOPs
		all = append(all, fmt.Sprintf("%d threads at once are worth %.2f of one (%s: %s and %s GFLOP/s); shares are of what they reach together.",
			p.Threads, p.GFLOPs/one, p.Vectors, tables.GFLOPs(p.GFLOPs), tables.GFLOPs(one)))
	}
	for _, reason := range f.Disturbed() {
		all = append(all, "DISTURBED: "+reason+".")
	}
	for _, n := range f.NotRun {
		all = append(all, "NOT RUN: "+n)
	}
	return append(all, f.Failures()...)
}

// detail returns in a line what was measured on.
func detail(f *results.File) string {
	m, b := &f.Machine, &f.Build
	parts := []string{fmt.Sprintf("%d of %d CPUs used", m.GOMAXPROCS, max(m.CPUs, m.HWThreads))}
	parts = append(parts, m.Traits()...)
	parts = append(parts, b.GOOS+"/"+b.GOARCH, b.Go, fmt.Sprintf("contract %d", f.Contract))
	if b.Commit != "" {
		commit := b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			commit += " modified"
		}
		parts = append(parts, "commit "+commit)
	}
	if len(f.Date) >= 10 {
		parts = append(parts, f.Date[:10])
	}
	if f.Quick {
		parts = append(parts, "a quick run")
	}
	return strings.Join(parts, " · ")
}

// cards are the figures of the verdict.
func cards(f *results.File) []card {
	v := f.Verdict()
	all := []card{{"tier", cmp.Or(v.Tier, "none"), "", "chosen on this CPU"}}
	if v.Tier == "" {
		all[0].Detail = "calls that name no tier fail, see ATTN_TIER"
	}
	if p := v.Prefill; p != nil {
		percent, doubt := p.Share(f)
		c := card{"prefill", "–", "", fmt.Sprintf("%s GFLOP/s on one thread; %s", tables.GFLOPs(p.GFLOPs), doubt)}
		if doubt == "" {
			c = card{"prefill", fmt.Sprintf("%.0f", percent), "% of FMA peak", fmt.Sprintf("%s of %s GFLOP/s on one thread", tables.GFLOPs(p.GFLOPs), tables.GFLOPs(p.Peak))}
		}
		if t := v.PrefillThreads; t != nil {
			if percent, doubt := t.Share(f); doubt == "" {
				c.Detail += fmt.Sprintf("; %.0f%% of %s on %d", percent, tables.GFLOPs(t.Peak), t.Threads)
			} else {
				c.Detail += fmt.Sprintf("; %s on %d", tables.GFLOPs(t.GFLOPs), t.Threads)
			}
		}
		c.Detail += " (" + p.Shape + ")"
		all = append(all, c)
	}
	if v.DecodeThreads > 0 {
		c := card{"decode", "–", "", fmt.Sprintf("%.1f GB/s on %s; %s (%s)", v.DecodeGBs, results.Threads(v.DecodeThreads), v.DecodeDoubt, v.DecodeShape)}
		if v.DecodeDoubt == "" {
			c = card{"decode", fmt.Sprintf("%.0f", v.DecodePercent), "% of reading", fmt.Sprintf("%.1f of %.1f GB/s on %s (%s)", v.DecodeGBs, v.DecodeRead, results.Threads(v.DecodeThreads), v.DecodeShape)}
		}
		all = append(all, c)
	}
	a := results.Agree([]*results.File{f})
	bits := card{"bits", "same", "", a.Short}
	if !a.Agree {
		bits.Value = "not shown"
	}
	if a.Wrong {
		bits.Value = "DIFFER"
	}
	return append(all, bits)
}
