// Package pictures writes what a command draws.
package pictures

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/bench/examples/heat"
	"github.com/attn-go/attn/bench/examples/internal/outputs"
)

// Files are the files that a command draws a figure into. A name that is empty stands
// for no file.
type Files struct{ SVG, PNG string }

// Flags adds the flags -svg and -png. The files are name.svg and name.png of package outputs if
// the command line says nothing else.
func (p *Files) Flags(fs *flag.FlagSet, name string) {
	fs.StringVar(&p.SVG, "svg", outputs.Path(name+".svg"), "SVG `file` to draw, overwritten if it exists; -svg='' draws none")
	fs.StringVar(&p.PNG, "png", outputs.Path(name+".png"), "PNG `file` to draw, overwritten if it exists; -png='' draws none")
}

// Write draws the figure into the files and reports which files were written.
func (p *Files) Write(f *heat.Figure, report io.Writer) error {
	var written []string
	defer func() {
		if len(written) > 0 {
			fmt.Fprintf(report, "wrote %s\n", strings.Join(written, ", "))
		}
	}()
	for _, name := range []string{p.PNG, p.SVG} {
		if name == "" {
			continue
		}
		if err := outputs.Make(name); err != nil {
			return err
		}
		if err := f.WriteFile(name); err != nil {
			return err
		}
		written = append(written, name)
	}
	return nil
}
