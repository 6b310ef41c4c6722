package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// lineSteps is the number of steps between two lines of progress where there is no terminal.
const lineSteps = 100

// A progress shows the steps of training: by a bar on a terminal, by lines elsewhere.
type progress struct {
	bar         *progressbar.ProgressBar
	lines       io.Writer
	loss, right float64 // running means
	started     bool
}

// newProgress shows steps from the number done on.
func newProgress(w io.Writer, done, steps int) *progress {
	p := &progress{lines: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(steps,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
		)
		p.bar.Set(done)
	}
	return p
}

// step shows that so many steps are done, with the last one's loss and share of right dates.
func (p *progress) step(done int, loss, right float64) {
	const keep = 0.95
	if !p.started {
		p.loss, p.right, p.started = loss, right, true
	}
	p.loss, p.right = keep*p.loss+(1-keep)*loss, keep*p.right+(1-keep)*right
	text := fmt.Sprintf("loss %.4f, right %5.1f%%", p.loss, 100*p.right)
	switch {
	case p.bar != nil:
		p.bar.Describe(text)
		p.bar.Set(done)
	case done%lineSteps == 0:
		fmt.Fprintf(p.lines, "step %5d: %s\n", done, text)
	}
}

// end ends the line of the bar.
func (p *progress) end() {
	if p.bar != nil {
		fmt.Fprintln(p.lines)
	}
}
