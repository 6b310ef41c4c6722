package passage

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// lines are the lines of a file, of which those around the current passage are kept.
type lines struct {
	r     *bufio.Reader
	kept  []string // without their ends
	sizes []int    // of the kept lines in the file
	first int      // number of the first one
	done  int      // lines whose bytes a passage has counted
	ended bool
	err   error
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 1<<16), first: 1} }

// has returns whether there is a line n. It reads on if it must. After an error there is none.
func (f *lines) has(n int) bool {
	for !f.ended && n >= f.first+len(f.kept) {
		text, err := f.r.ReadString('\n')
		if err != nil {
			f.ended = true
			if !errors.Is(err, io.EOF) {
				f.err = err
				break
			}
		}
		if text != "" {
			f.kept = append(f.kept, strings.TrimRight(text, "\r\n"))
			f.sizes = append(f.sizes, len(text))
		}
	}
	return f.err == nil && n < f.first+len(f.kept)
}

// at returns line n, which is kept.
func (f *lines) at(n int) string { return f.kept[n-f.first] }

// slice returns the kept lines from a to b, as far as they exist.
func (f *lines) slice(a, b int) []string {
	a, b = max(a, f.first), min(b, f.first+len(f.kept)-1)
	if a > b {
		return nil
	}
	return append([]string(nil), f.kept[a-f.first:b-f.first+1]...)
}

// yield yields the passage of the lines from a to b and forgets what no later one needs.
func (f *lines) yield(a, b, context int, yield func(Passage, error) bool) bool {
	f.has(b + context)
	p := Passage{Text: strings.Join(f.slice(a, b), "\n"), First: a, Last: b, Before: f.slice(a-context, a-1), After: f.slice(b+1, b+context)}
	for ; f.done < b; f.done++ {
		p.Bytes += f.sizes[f.done+1-f.first]
	}
	if drop := b + 1 - context - f.first; drop > 0 {
		f.kept, f.sizes, f.first = f.kept[drop:], f.sizes[drop:], f.first+drop
	}
	return yield(p, nil)
}
