// Package loadbar shows on a terminal how far a model is loaded.
package loadbar

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/attn-go/attn/models/internal/terminal"
)

// patience is how long a model loads before there is a bar: most take less.
const patience = 500 * time.Millisecond

// New returns the function that loading a model reports to, or nil if w is no terminal. The bar
// leaves nothing behind; end removes it if an error ended the loading.
func New(w io.Writer) (report func(done, total int64), end func()) {
	if !terminal.Is(w) {
		return nil, func() {}
	}
	b := &bar{w: w, begin: time.Now()}
	return b.report, b.end
}

// A bar is drawn once there has been reason for patience.
type bar struct {
	w     io.Writer
	begin time.Time
	drawn *progressbar.ProgressBar
}

func (b *bar) report(done, total int64) {
	if b.drawn == nil && done < total && time.Since(b.begin) > patience {
		b.drawn = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription("loading"),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(50*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	if b.drawn != nil {
		b.drawn.Set64(done)
	}
	if done == total {
		b.end()
	}
}

func (b *bar) end() {
	if b.drawn != nil {
		b.drawn.Finish()
		b.drawn.Clear()
		b.drawn = nil
	}
}
