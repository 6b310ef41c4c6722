package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// A progress shows how many steps of a run are done: in one line on a terminal. Elsewhere only the
// last step is written, at the end of the run.
type progress struct {
	w           io.Writer
	done, steps int
	line        string
	terminal    bool
}

func newProgress(w io.Writer, steps int) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, steps: steps, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// next names the next step.
func (p *progress) next(step string) {
	p.done++
	p.line = fmt.Sprintf("[%*d/%d] %s", len(fmt.Sprint(p.steps)), p.done, p.steps, step)
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%.78s", p.line) // erases the line before
	}
}

// close removes the line on a terminal, even if not all steps are done.
func (p *progress) close() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	} else if p.done > 0 {
		fmt.Fprintln(p.w, p.line)
	}
}
