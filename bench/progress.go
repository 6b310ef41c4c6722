package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A progress shows how many steps of a run are done: by a bar on a terminal, and by lines
// or not at all elsewhere.
type progress struct {
	bar   *progressbar.ProgressBar
	lines io.Writer
}

// newProgress shows steps on w. If quiet is set and w is no terminal, it shows nothing.
func newProgress(w io.Writer, steps int, quiet bool) *progress {
	if isTerminal(w) {
		return &progress{bar: progressbar.NewOptions(steps,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)}
	}
	if quiet {
		w = io.Discard
	}
	return &progress{lines: w}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// begin names the next step.
func (p *progress) begin(step string) {
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%-24s", step))
	}
}

// end reports the result of the step.
func (p *progress) end(line string) {
	if p.bar != nil {
		p.bar.Add(1)
		return
	}
	fmt.Fprintln(p.lines, line)
}

// clear removes the bar until the next step, to make room for a line of output.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}

// close removes the bar, even if not all steps are done.
func (p *progress) close() {
	if p.bar != nil {
		p.bar.Finish()
		p.bar.Clear()
	}
}
