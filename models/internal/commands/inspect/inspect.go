// Package inspect is the command attn inspect, which says what a model is, from its files: its
// architecture, sizes and types, what loading it would lack, and the memory that it will take. No
// weights are read.
//
//	attn inspect DIR
//	attn inspect model.gguf -json
package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/internal/flags"
)

// Command is attn inspect.
var Command = commands.Command{Name: "inspect", Summary: "says what a model is, and what is missing to load it", Flags: func() *flag.FlagSet { return new(config).flagSet() }, Main: Main}

// Main runs the command.
func Main(args []string) {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("attn inspect", run(ctx, args, os.Stdout))
}

const usage = `usage: attn inspect [-json] PATH...

Says what a model is. A PATH is a GGUF file, a folder as Hugging Face has it, or a name that attn fetch
downloads. The status is 1 if a model cannot be loaded.

`

// config is a parsed command line.
type config struct {
	asJSON bool
	fetch  flags.Fetch
}

// flagSet returns the flags, which set c.
func (c *config) flagSet() *flag.FlagSet {
	fs := commands.FlagSet("inspect", usage)
	fs.BoolVar(&c.asJSON, "json", false, "print a JSON object for each model")
	c.fetch.Flag(fs)
	return fs
}

// errProblems is the error of models that cannot be loaded.
var errProblems = errors.New("not all models can be loaded")

// run runs the command.
func run(ctx context.Context, args []string, out io.Writer) error {
	c := &config{}
	fs := c.flagSet()
	if err := command.Parse(fs, args, out); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if fs.NArg() == 0 {
		return command.Usage(errors.New("want the path of a model"))
	}
	c.fetch.Allow(ctx, os.Stderr)
	var failed error
	for i, path := range fs.Args() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, err := models.Inspect(path)
		if err != nil {
			return err
		}
		if len(r.Problems) > 0 {
			failed = errProblems
		}
		if c.asJSON {
			err = json.NewEncoder(out).Encode(newRecord(r))
		} else {
			if i > 0 {
				fmt.Fprintln(out)
			}
			_, err = io.WriteString(out, text(r))
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// A record is the JSON of a model.
type record struct {
	Path         string         `json:"path"`
	Format       string         `json:"format"`
	Architecture string         `json:"architecture"`
	Kind         models.Kind    `json:"kind"`
	Parameters   int64          `json:"parameters"`
	Sizes        map[string]int `json:"sizes"`
	Types        []typeRecord   `json:"types"`
	FileBytes    int64          `json:"file_bytes"`
	Memory       int64          `json:"memory_bytes"`
	TokenMemory  int64          `json:"memory_bytes_per_token,omitempty"`
	Tokenizer    string         `json:"tokenizer_error,omitempty"`
	Template     string         `json:"template_error,omitempty"`
	Problems     []string       `json:"problems"`
	More         int            `json:"more_problems,omitempty"`
}

type typeRecord struct {
	Type     string `json:"type"`
	Tensors  int    `json:"tensors"`
	Elements int64  `json:"elements"`
	Bytes    int64  `json:"bytes"`
}

func newRecord(r *models.Report) record {
	x := record{
		Path: r.Path, Format: format(r), Architecture: r.Architecture, Kind: r.Kind, Parameters: parameters(r), Sizes: map[string]int{}, Types: []typeRecord{},
		FileBytes: r.FileBytes, Memory: r.Memory, TokenMemory: r.TokenMemory, Tokenizer: message(r.Tokenizer), Problems: []string{}, More: r.MoreProblems,
	}
	if r.Kind == models.KindGenerator {
		x.Template = message(r.Template)
	}
	for _, s := range r.Sizes {
		x.Sizes[strings.ReplaceAll(s.Name, " ", "_")] = s.Value
	}
	for _, t := range r.Types {
		x.Types = append(x.Types, typeRecord{t.Name, t.Tensors, t.Elements, t.Bytes})
	}
	for _, err := range r.Problems {
		x.Problems = append(x.Problems, err.Error())
	}
	return x
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func format(r *models.Report) string {
	if r.GGUF {
		return "gguf"
	}
	return "folder"
}

// parameters returns the number of all elements.
func parameters(r *models.Report) (n int64) {
	for _, t := range r.Types {
		n += t.Elements
	}
	return n
}

// text describes a model for readers.
func text(r *models.Report) string {
	var b strings.Builder
	line := func(name, form string, args ...any) {
		fmt.Fprintf(&b, "%-14s"+form+"\n", append([]any{name}, args...)...)
	}
	line("model", "%s", r.Path)
	line("architecture", "%s, %s (%s)", r.Architecture, r.Kind, format(r))
	for i, s := range r.Sizes {
		name := ""
		if i == 0 {
			name = "sizes"
		}
		line(name, "%-20s %d", s.Name, s.Value)
	}
	for i, t := range r.Types {
		name := ""
		if i == 0 {
			name = "tensors"
		}
		line(name, "%-6s %4d with %s numbers, %s", t.Name, t.Tensors, short(t.Elements, 1000, ""), short(t.Bytes, 1024, "B"))
	}
	if len(r.Problems) == 0 {
		line("memory", "%s for the weights, which take %s in the files", short(r.Memory, 1024, "B"), short(r.FileBytes, 1024, "B"))
		if r.TokenMemory > 0 {
			line("", "and %s for every token of a text, in float32", short(r.TokenMemory, 1024, "B"))
		}
	}
	if r.Tokenizer != nil {
		line("tokenizer", "none: %v", r.Tokenizer)
	}
	if r.Template != nil && r.Kind == models.KindGenerator {
		line("conversations", "none: %v", r.Template)
	}
	for i, err := range r.Problems {
		name := ""
		if i == 0 {
			name = "missing"
		}
		line(name, "%v", err)
	}
	if r.MoreProblems > 0 {
		line("", "and more")
	}
	if len(r.Problems) == 0 {
		line("missing", "nothing")
	}
	return b.String()
}

// short returns a number with a unit, such as 90.9 MiB.
func short(n int64, base float64, unit string) string {
	x, steps := float64(n), 0
	for x >= base && steps < 4 {
		x /= base
		steps++
	}
	if steps == 0 {
		return strings.TrimSpace(fmt.Sprintf("%d %s", n, unit))
	}
	prefix := []string{"", "k", "M", "G", "T"}[steps]
	if base == 1024 {
		prefix = []string{"", "Ki", "Mi", "Gi", "Ti"}[steps]
	}
	return fmt.Sprintf("%.3g %s%s", x, prefix, unit)
}
