package gobytes

import (
	"fmt"
	"html"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestHeatmap: the picture in README.md has the attention weights of the model as it reads a text,
// with the same bytes on every tier. UPDATE=1 draws it anew.
func TestHeatmap(t *testing.T) {
	const name, text, layer = "testdata/attention.svg", "func main() {", 1
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	eachTier(t, func(t *testing.T, tier kernel.Tier) {
		b := batch(t, model(t), 1, Settings{Tier: tier})
		var got string
		b.Observe = func(l int, weights []float32, shape [4]int) {
			if l == layer {
				got = heatmap(fmt.Sprintf("Attention weights of layer %d, reading %q", l, text), labels(text), weights, shape[1])
			}
		}
		forward(t, b, []byte(text))
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		} else if got != string(want) {
			t.Errorf("%d bytes, which are not those of %s", len(got), name)
		}
	})
}

// labels returns a label for each byte of a text.
func labels(text string) (all []string) {
	for i := range len(text) {
		label := strings.Trim(strconv.QuoteToASCII(text[i:i+1]), `"`)
		if text[i] == ' ' {
			label = "·"
		}
		all = append(all, label)
	}
	return all
}

// The sizes of a heat map.
const (
	cell    = 14 // pixels of a weight
	margin  = 26 // for the labels of a head
	columns = 3  // heads side by side
)

// heatmap draws weights, [heads, n, n] for n labels, as SVG. A row is a query, the byte that the
// model has just read. A column is a key, a byte that this query attends to. The darker a cell, the
// larger is the weight. Keys that come after the query are hidden from it, and grey.
func heatmap(title string, labels []string, weights []float32, heads int) string {
	var b strings.Builder
	n := len(labels)
	size := n*cell + 2*margin
	width, height := min(heads, columns)*size, (heads+columns-1)/columns*size+margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" font-size=\"11\" text-anchor=\"middle\">\n", width, height)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"%d\">%s</text>\n", width/2, margin-8, html.EscapeString(title))
	for h := range heads {
		fmt.Fprintf(&b, "<g transform=\"translate(%d %d)\">\n<text x=\"%d\" y=\"-18\">head %d</text>\n", h%columns*size+margin, h/columns*size+2*margin, n*cell/2, h)
		for i, label := range labels {
			at := i*cell + cell/2
			fmt.Fprintf(&b, "<text x=\"%d\" y=\"-4\">%s</text><text x=\"-10\" y=\"%d\">%[2]s</text>\n", at, html.EscapeString(label), at+4)
			fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#e4e4ea\"/>\n", (i+1)*cell, i*cell, (n-1-i)*cell, cell)
			for k, w := range weights[(h*n+i)*n:][:i+1] {
				light := 100 - 85*w
				fmt.Fprintf(&b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%[3]d\" fill=\"hsl(%.0f 90%% %.1f%%)\"/>\n", k*cell, i*cell, cell, 50-45*w, light)
			}
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}
