// Command dates translates dates, as people write them, into ISO 8601. It uses a small
// trained encoder-decoder with additive attention, computed by package kernel alone. It
// prints how sure the model is of each date, and draws the attention weights.
//
//	go run ./bench/examples/dates -text 'Saturday, November 21, 2026'
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/attn-go/attn/bench/examples/heat"
	"github.com/attn-go/attn/bench/examples/internal/outputs"
	"github.com/attn-go/attn/bench/examples/internal/pictures"
	"github.com/attn-go/attn/bench/examples/internal/train"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
)

func main() {
	command.Exit("dates", run(os.Args[1:], os.Stdout, os.Stderr))
}

// config is a parsed command line.
type config struct {
	inputs   command.Inputs
	texts    []string // of the inputs, a date each
	pictures pictures.Files
	settings settings

	weights string // the file of a model, "" for the one that comes with the program

	trains, resumes bool
	schedule        train.Schedule
}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("dates", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintf(fs.Output(), "usage: dates [flags] -text DATE\n       dates [flags] FILE...   with a date a line\n       dates -train [flags]\n\n"+
			"Translates each text, a date, into YYYY-MM-DD with a small trained model, says how probable the\n"+
			"answer is, and draws the attention weights. With -train it trains such a model on random dates\n"+
			"and prints a hash of the weights, which is the same on every machine.\n\n%s\n\n", knownFormats())
		fs.PrintDefaults()
	}
	c.inputs.Flag(fs, "a `date`; may be repeated")
	c.pictures.Flags(fs, "dates")
	exec := kernel.Exec{Threads: 1}
	command.ExecFlags(fs, &exec)
	fs.StringVar(&c.weights, "model", "", "safetensors `file` of the model (default the one that comes with the program);\nwith -train the file that is written every "+strconv.Itoa(train.CheckpointSteps)+" steps and at the end (default "+defaultWeights()+")")
	fs.BoolVar(&c.trains, "train", false, "train a model from random weights")
	fs.BoolVar(&c.resumes, "resume", false, "with -train: continue from the file of an interrupted run with the same flags,\nto the weights that it would have had")
	fs.IntVar(&c.schedule.Steps, "steps", 1000, "with -train: number of steps")
	fs.IntVar(&c.schedule.Batch, "batch", 128, "with -train: dates in a step")
	fs.Uint64Var(&c.schedule.Seed, "seed", 1, "with -train: seed of the first weights and of the dates")
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	switch {
	case c.trains && len(c.inputs.Texts)+fs.NArg() > 0:
		return nil, command.Usage(fmt.Errorf("-train with the date %q, want none", append(c.inputs.Texts, fs.Args()...)[0]))
	case c.trains && (c.schedule.Steps < 1 || c.schedule.Batch < 1):
		return nil, command.Usage(fmt.Errorf("-steps is %d and -batch is %d, want at least 1", c.schedule.Steps, c.schedule.Batch))
	case c.resumes && !c.trains:
		return nil, command.Usage(errors.New("-resume without -train"))
	}
	if err := command.CheckExec(exec); err != nil {
		return nil, err
	}
	if c.trains && c.weights == "" {
		c.weights = defaultWeights()
	}
	c.settings = settings{exec.Tier, exec.Threads}
	c.inputs.Take(fs)
	return c, nil
}

// defaultWeights returns the file that training writes unless it is told another one.
func defaultWeights() string { return outputs.Path("dates.safetensors") }

// model loads the model.
func (c *config) model() (*model, error) {
	if c.weights == "" {
		return loadDefault()
	}
	f, err := os.Open(c.weights)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m, err := load(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.weights, err)
	}
	return m, nil
}

// read reads the dates.
func (c *config) read(stdin io.Reader, report io.Writer) (err error) {
	if err := c.inputs.Check(report); err != nil {
		return err
	}
	if err := cmp.Or(c.inputs.CheckApart("-svg", c.pictures.SVG), c.inputs.CheckApart("-png", c.pictures.PNG)); err != nil {
		return err
	}
	if c.texts, err = c.inputs.Lines(context.Background(), stdin); err == nil && len(c.texts) == 0 {
		return command.Usage(errors.New("no date to translate, such as -text 'Saturday, November 21, 2026'"))
	}
	return err
}

// run runs the command. It writes the dates to out, one a line, and all else to report.
func run(args []string, out, report io.Writer) error {
	c, err := parse(args, report)
	if err != nil {
		return err
	}
	if c.trains {
		return c.train(out, report)
	}
	if err := c.read(os.Stdin, report); err != nil {
		return err
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	translations, err := m.translate(c.texts, c.settings)
	if err != nil {
		return err
	}
	doubts := false
	for i := range translations {
		t := &translations[i]
		line := fmt.Sprintf("%-10s  %s", t.answer(), t.confidence())
		if doubt := t.doubt(); doubt != "" {
			doubts = true
			line += "  DO NOT TRUST IT: " + doubt
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	if doubts {
		fmt.Fprintln(report, knownFormats())
	}
	f := figure(translations)
	if len(f.Maps) == 0 {
		return nil
	}
	return c.pictures.Write(f, report)
}

// answer returns the date, or what stands for it if the model wrote none.
func (t *translation) answer() string {
	if len(t.date) == 0 {
		return "(no date)"
	}
	return string(t.date)
}

// confidence returns the probability of the date. It is rounded down: otherwise one just
// below minProbability could look as if it were equal to it.
func (t *translation) confidence() string {
	const digits = 1e4
	return fmt.Sprintf("probability %.4f", math.Floor(float64(t.probability)*digits)/digits)
}

// figure returns a heat map for each text that has an answer: which characters of the
// text the model attended to while it wrote each character of the date.
func figure(translations []translation) *heat.Figure {
	f := &heat.Figure{
		Title:     "Attention weights of the dates model",
		QueryAxis: "query (character of the date)", KeyAxis: "key (character of the text)",
	}
	for i := range translations {
		t := &translations[i]
		if len(t.date) == 0 {
			continue // no query, nothing to draw
		}
		f.Maps = append(f.Maps, heat.Map{
			Title:   fmt.Sprintf("%q → %s, %s", string(t.text), t.answer(), t.confidence()),
			Queries: heat.CharacterLabels(string(t.date)), Keys: heat.CharacterLabels(string(t.text)),
			Weights: t.alignment,
		})
	}
	return f
}
