package page

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/attn-go/attn/bench/internal/results"
)

// WriteCharts writes two charts of the first file to a folder, each for light and for dark
// ground: roofline-light.svg, roofline-dark.svg, and the same of decode.
func WriteCharts(folder string, files []*results.File) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	f := files[0]
	for name, draw := range map[string]drawer{"roofline": roofline, "decode": decode} {
		s := draw(f, 0)
		if len(s.table.Rows) == 0 {
			return errors.New("the first file has nothing for the chart of " + name + ": measure with -all or -quick")
		}
		light, dark, err := s.chart.Files(wide, 400)
		if err != nil {
			return err
		}
		for suffix, svg := range map[string]string{"-light.svg": light, "-dark.svg": dark} {
			if err := os.WriteFile(filepath.Join(folder, name+suffix), []byte(svg), 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}
