// Command heatmap draws what the attention of a small language model looks at, head
// by head: in each map a row is a byte of the text that asks, a column one that it may
// look at, itself and those before it, and the colour says how much it does.
//
//	go run ./examples/heatmap -text 'func main() {' -layer 1
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/examples/gobytes"
	"github.com/attn-go/attn/examples/internal/heat"
	"github.com/attn-go/attn/examples/internal/program"
	"github.com/attn-go/attn/kernel"
)

func main() {
	program.Exit("heatmap", run(os.Args[1:], os.Stderr))
}

// maxText is the longest text, in bytes, whose labels can still be read.
const maxText = 96

// config is what the command line asks for.
type config struct {
	text     string
	layer    int
	heads    []int // none means all
	svg, png string
	settings gobytes.Settings
}

func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("heatmap", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.text, "text", "func main() {\n\tfmt.Println(x)\n}", "text to read, at most "+strconv.Itoa(maxText)+" bytes")
	fs.IntVar(&c.layer, "layer", 1, "layer to look at, from 0")
	fs.Func("heads", "heads to draw, from 0, such as 0,3 (default all)", c.parseHeads)
	fs.StringVar(&c.svg, "svg", "heatmap.svg", "`file` for the picture as SVG; none if empty")
	fs.StringVar(&c.png, "png", "heatmap.png", "`file` for the picture as PNG; none if empty")
	fs.StringVar(&c.settings.Tier, "tier", "", "implementation, like generic or avx2 (default the best here)")
	fs.IntVar(&c.settings.Threads, "threads", 1, "threads; 0 means all")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(help)
		fs.Usage()
		return nil, err
	case err != nil:
		return nil, program.Usage(err)
	case fs.NArg() > 0:
		return nil, program.Usage(fmt.Errorf("unexpected argument %q", fs.Arg(0)))
	case c.text == "" || len(c.text) > maxText:
		return nil, program.Usage(fmt.Errorf("-text: %d bytes, want 1 to %d", len(c.text), maxText))
	case c.settings.Threads < 0:
		return nil, program.Usage(errors.New("-threads: want 0 or more"))
	}
	return c, nil
}

func (c *config) parseHeads(list string) error {
	c.heads = nil
	for _, s := range strings.Split(list, ",") {
		h, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("want numbers with commas between them")
		}
		c.heads = append(c.heads, h)
	}
	return nil
}

// choose checks layer and heads, which are the model's to say.
func (c *config) choose(m *gobytes.Model) error {
	if c.layer < 0 || c.layer >= m.Layers {
		return program.Usage(fmt.Errorf("-layer: %d, the model has 0 to %d", c.layer, m.Layers-1))
	}
	if c.heads == nil {
		for h := range m.Heads {
			c.heads = append(c.heads, h)
		}
	}
	for i, h := range c.heads {
		if h < 0 || h >= m.Heads || slices.Contains(c.heads[:i], h) {
			return program.Usage(fmt.Errorf("-heads: %d, want each once, of 0 to %d", h, m.Heads-1))
		}
	}
	return nil
}

// run is the command.
func run(args []string, help io.Writer) error {
	c, err := parse(args, help)
	if err != nil {
		return err
	}
	m, err := gobytes.Default()
	if err != nil {
		return err
	}
	if err := c.choose(m); err != nil {
		return err
	}
	f, err := c.figure(m)
	if err != nil {
		return err
	}
	for _, name := range []string{c.svg, c.png} {
		if name == "" {
			continue
		}
		if err := f.WriteFile(name); err != nil {
			return err
		}
	}
	return nil
}

// figure lets the model read the text and returns a map for each head.
func (c *config) figure(m *gobytes.Model) (*heat.Figure, error) {
	b, err := m.NewBatch(1, c.settings)
	if err != nil {
		return nil, err
	}
	f := &heat.Figure{Across: "looked at", Down: "looking"}
	b.Observe = func(layer int, weights kernel.Tensor) {
		if layer == c.layer {
			for _, h := range c.heads {
				f.Maps = append(f.Maps, c.head(h, weights))
			}
		}
	}
	_, err = b.Forward([][]byte{[]byte(c.text)})
	return f, err
}

// head returns the map of a head.
func (c *config) head(h int, weights kernel.Tensor) heat.Map {
	m := heat.Map{Title: fmt.Sprintf("layer %d, head %d", c.layer, h)}
	for i := range len(c.text) {
		m.Columns = append(m.Columns, heat.Label(rune(c.text[i])))
		m.Weights = append(m.Weights, weights.Row(0, h, i)...)
	}
	m.Rows = m.Columns
	return m
}
