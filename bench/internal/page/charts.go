package page

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/bench/internal/chart"
	"github.com/attn-go/attn/bench/internal/results"
)

// Documents returns the files that folder docs has of results, by their names: benchmarks.md, and
// the charts that it and README.md show, each for light and for dark ground.
func Documents(files []*results.File, comparisons []*results.Comparison) (map[string][]byte, error) {
	var b bytes.Buffer
	if err := WriteMarkdown(&b, files, comparisons); err != nil {
		return nil, err
	}
	all := map[string][]byte{"benchmarks.md": b.Bytes()}
	for _, c := range results.Newest(comparisons) {
		if c.Chart == "" {
			continue
		}
		light, dark, err := beside(c).Files(wide, 400)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		all[c.Chart+"-light.svg"], all[c.Chart+"-dark.svg"] = []byte(light), []byte(dark)
	}
	return all, nil
}

// beside draws how many times as long as the first program the others take.
func beside(c *results.Comparison) *chart.Chart {
	x, most := &chart.Chart{XLabel: "time of a call in multiples of " + c.Programs[0] + "'s: shorter is faster", FromZero: true}, 1.0
	for i, r := range c.Rows {
		for k := range r.Values {
			if r.Chart {
				x.AddBar(r.Name, c.Programs[k], chart.Point{X: c.Ratio(i, k)})
				most = max(most, c.Ratio(i, k))
			}
		}
	}
	for tick := 0.0; tick <= most; tick++ {
		x.XTicks = append(x.XTicks, tick)
	}
	return x
}

// WriteDocuments writes the files of Documents to a folder.
func WriteDocuments(folder string, files []*results.File, comparisons []*results.Comparison) error {
	all, err := Documents(files, comparisons)
	if err != nil {
		return err
	}
	for name, data := range all {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
