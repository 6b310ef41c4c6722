package train

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
	bar    *progressbar.ProgressBar
	lines  io.Writer
	format string
	means  []any // running ones, of type float64
}

// newProgress shows steps from the number done on, with means in this format.
func newProgress(w io.Writer, done, steps int, format string) *progress {
	p := &progress{lines: w, format: format}
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

// step shows that so many steps are done, with the last one's values.
func (p *progress) step(done int, values []float64) {
	const keep = 0.95
	for i, x := range values {
		if i == len(p.means) {
			p.means = append(p.means, x)
		}
		p.means[i] = keep*p.means[i].(float64) + (1-keep)*x
	}
	text := fmt.Sprintf(p.format, p.means...)
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
