package embed

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/attn-go/attn/models/internal/terminal"
)

// A progress shows how much of the input is done.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress shows a bar on w if it is wanted and w is a terminal. bytes is the size of the
// input, -1 if it is unknown.
func newProgress(w io.Writer, bytes int64, wanted bool) *progress {
	if !wanted || !terminal.Is(w) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(bytes,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowBytes(true),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(50*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)}
}

func (p *progress) add(bytes int) {
	if p.bar != nil {
		p.bar.Add(bytes)
	}
}

// close removes the bar, even if not all is done.
func (p *progress) close() {
	if p.bar != nil {
		p.bar.Finish()
		p.bar.Clear()
	}
}
