// Command heatmap draws the attention weights of a small language model, gobytes, that
// reads a text: a heat map for each head of one layer. A row is a query, the byte that the
// model has just read. A column is a key, a byte that this query attends to. The colour is
// the weight. The mask is causal: a query attends to itself and to earlier bytes only.
//
//	go run ./bench/examples/heatmap -text 'func main() {' -layer 1
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

	"github.com/attn-go/attn/bench/examples/heat"
	"github.com/attn-go/attn/bench/examples/internal/pictures"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/gobytes"
)

func main() {
	command.Exit("heatmap", run(os.Args[1:], os.Stderr))
}

// maxText is the length in bytes of the longest text whose labels are still readable.
const maxText = 96

// config is a parsed command line.
type config struct {
	text     string
	layer    int
	heads    []int // nil: all
	pictures pictures.Files
	settings gobytes.Settings
}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("heatmap", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "usage: heatmap [flags]\n\n"+
			"Lets the language model gobytes read a text and draws the attention weights of one layer,\n"+
			"a heat map for each head. Rows are queries, columns are keys; both are bytes of the text.\n\n")
		fs.PrintDefaults()
	}
	fs.StringVar(&c.text, "text", "func main() {\n\tfmt.Println(x)\n}", "text to read, at most "+strconv.Itoa(maxText)+" bytes")
	fs.IntVar(&c.layer, "layer", 1, "`number` of the layer, from 0")
	fs.Func("heads", "`numbers` of the heads, from 0, such as 0,3 (default all heads)", c.parseHeads)
	c.pictures.Flags(fs, "heatmap")
	exec := kernel.Exec{Threads: 1}
	command.ExecFlags(fs, &exec)
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 0:
		return nil, command.Usage(fmt.Errorf("unexpected argument %q; -text takes the text, in quotes", fs.Arg(0)))
	case c.text == "" || len(c.text) > maxText:
		return nil, command.Usage(fmt.Errorf("-text has %d bytes, want 1 to %d", len(c.text), maxText))
	}
	if err := command.CheckExec(exec); err != nil {
		return nil, err
	}
	c.settings.Tier, c.settings.Threads = exec.Tier, exec.Threads
	return c, nil
}

// parseHeads parses the argument of -heads.
func (c *config) parseHeads(list string) error {
	c.heads = nil
	for _, s := range strings.Split(list, ",") {
		h, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("want numbers separated by commas, such as 0,3")
		}
		c.heads = append(c.heads, h)
	}
	return nil
}

// choose checks that the model has the layer and the heads, and fills in all heads if
// the command line names none.
func (c *config) choose(m *gobytes.Model) error {
	if c.layer < 0 || c.layer >= m.Layers {
		return command.Usage(fmt.Errorf("-layer is %d, but the model has layers 0 to %d", c.layer, m.Layers-1))
	}
	if c.heads == nil {
		for h := range m.Heads {
			c.heads = append(c.heads, h)
		}
	}
	for i, h := range c.heads {
		if h < 0 || h >= m.Heads {
			return command.Usage(fmt.Errorf("-heads names head %d, but the model has heads 0 to %d", h, m.Heads-1))
		}
		if slices.Contains(c.heads[:i], h) {
			return command.Usage(fmt.Errorf("-heads names head %d twice", h))
		}
	}
	return nil
}

// run runs the command. It writes help and the names of the files to report.
func run(args []string, report io.Writer) error {
	c, err := parse(args, report)
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
	return c.pictures.Write(f, report)
}

// figure lets the model read the text and returns a map for each head.
func (c *config) figure(m *gobytes.Model) (*heat.Figure, error) {
	b, err := m.NewBatch(1, c.settings)
	if err != nil {
		return nil, err
	}
	f := &heat.Figure{
		Title:     fmt.Sprintf("Attention weights of gobytes, layer %d, reading %q", c.layer, c.text),
		QueryAxis: "query (byte)", KeyAxis: "key (byte)",
	}
	var failed error
	b.Observe = func(layer int, weights []float32, shape [4]int) {
		if layer == c.layer {
			f.Maps, failed = c.maps(slices.Clone(weights), shape) // they are valid for this call only
		}
	}
	_, err = b.Forward([][]byte{[]byte(c.text)})
	return f, errors.Join(err, failed)
}

// maps returns the map of each head, given the weights of the layer.
func (c *config) maps(weights []float32, shape [4]int) ([]heat.Map, error) {
	var maps []heat.Map
	labels := heat.ByteLabels([]byte(c.text))
	for _, h := range c.heads {
		w, err := heat.HeadWeights(weights, shape, 0, h)
		if err != nil {
			return nil, err
		}
		maps = append(maps, heat.Map{
			Title: fmt.Sprint("head ", h), Queries: labels, Keys: labels, Weights: w,
			Visible: func(query, key int) bool { return key <= query }, // the causal mask
		})
	}
	return maps, nil
}
