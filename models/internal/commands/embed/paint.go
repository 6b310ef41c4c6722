package embed

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/internal/passage"
	"github.com/attn-go/attn/models/internal/terminal"
)

// A painter writes results as grep does, with colours or without.
type painter struct {
	colours bool
	context bool // results have lines around them
}

// The colours of grep, as terminals take them.
const (
	magenta = "35"
	green   = "32"
	cyan    = "36"
)

func (p *painter) paint(colour, s string) string {
	if !p.colours || s == "" {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[m"
}

// hits returns results, best first.
func (p *painter) hits(all []hit) string {
	var b strings.Builder
	for i, h := range all {
		if p.context && i > 0 {
			b.WriteString(p.paint(cyan, "--") + "\n")
		}
		l := &h.line
		p.around(&b, l, l.before, l.number-len(l.before))
		text := strings.TrimSpace(l.text)
		if l.last > l.number {
			text = short(strings.Join(strings.Fields(text), " "))
		}
		colon := p.paint(cyan, ":")
		fmt.Fprintf(&b, "%7.4f  %s%s%s%s %s\n", h.score, p.paint(magenta, l.name()), colon, p.paint(green, l.numbers()), colon, passage.Escape(text))
		p.around(&b, l, l.after, l.last+1)
	}
	return b.String()
}

// mostShown is how many characters of a text of several lines are shown.
const mostShown = 200

// short returns the beginning of a text.
func short(text string) string {
	n := 0
	for i := range text {
		if n++; n > mostShown {
			return text[:i] + "…"
		}
	}
	return text
}

// around writes lines that are before or after a result, of which the first one has a number.
func (p *painter) around(b *strings.Builder, l *line, texts []string, number int) {
	dash := p.paint(cyan, "-")
	for i, text := range texts {
		if text != "" {
			text = " " + passage.Escape(text)
		}
		fmt.Fprintf(b, "%7s  %s%s%s%s%s\n", "", p.paint(magenta, l.name()), dash, p.paint(green, strconv.Itoa(number+i)), dash, text)
	}
}

// wantsColours returns whether output has colours, by the flag -color: at a terminal, if nothing
// says otherwise.
func wantsColours(flag string, out io.Writer) bool {
	if flag != "auto" {
		return flag == "always"
	}
	return terminal.Is(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
