// Package rerank is the command attn rerank, which ranks the passages of files by how well they
// answer a query, with a cross-encoder: a model that reads the query and a passage together.
//
//	attn rerank -model DIR -query 'How do I close a file?' notes.txt
//	attn rerank -model DIR -query 'my own threads' docs/*.md -unit paragraph -top 3
package rerank

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/internal/flags"
	"github.com/attn-go/attn/models/internal/passage"
	"github.com/attn-go/attn/models/reranking"
)

// Command is attn rerank.
var Command = commands.Command{Name: "rerank", Summary: "ranks passages by how well they answer a query, with a cross-encoder", Flags: func() *flag.FlagSet { return new(config).flagSet() }, Main: Main}

// Main runs the command.
func Main(args []string) {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("attn rerank", run(ctx, args, os.Stdin, os.Stdout, os.Stderr))
}

// config is a parsed command line.
type config struct {
	flags.Texts
	settings reranking.Options
}

const usage = `usage: attn rerank -model DIR -query TEXT [flags] [FILE...]

A FILE that is - stands for standard input, as does leaving it out. Flags may follow files.

The passages that answer TEXT best go to standard output, best first, as JSON lines: {"score", "file",
"line", "last_line", "text", "tokens", "cut"}. A score is the output of the model's classifier: the
higher, the better, and 1/(1+e^-score) is the probability that the model gives the passage. With several
labels it is the difference that has this property, such as that of the logits of yes and no. Of equal scores
the passage that was read first comes first.

A passage is a line, or with -unit paragraph the lines between blank ones, or with -unit window as many
words as the model sees beside the query, a quarter of which are those of the window before. Blank
lines do not count, and binary files are skipped.

Tokens are those of the query and the passage together, and of a prompt with both in it. If these are more
than the model sees, tokens at the end of the longer one are left out, or of a prompt those at the end of the
passage: the passage has "cut": true and gets a warning, or is an error with -long error. Bytes that are not UTF-8 are left out for the model and written as U+FFFD.

All passages are scored before the first is written. After an interrupt (^C) or SIGTERM nothing is, and the
status is 128 plus the number of the signal.

`

// flagSet returns the flags, which set c.
func (c *config) flagSet() *flag.FlagSet {
	fs := commands.FlagSet("rerank", usage)
	c.Flags(fs, flags.Words{
		Model: "`path` of a reranker: a folder as Hugging Face has it, or a GGUF file",
		Text:  "a passage `text` itself, also of several lines, before those of all files; may be repeated",
		Query: "`text` that passages answer", Top: "how many passages to write", Texts: "scores",
		Long: []string{"cut", "error"}, LongHelp: "`what` is done with a passage that the model does not see whole: cut or error (default cut)",
	})
	fs.StringVar(&c.settings.Instruction, "instruction", "", "`text` that says what a good answer is, for models that read one, such as Qwen3-Reranker; default that of the model")
	fs.StringVar(&c.settings.Label, "label", "", "`name` of the label whose score counts, for models with several ones, such as entailment")
	return fs
}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	if err := c.Parse(c.flagSet(), args, help); err != nil {
		return nil, err
	}
	return c, c.check()
}

// check reports settings that are missing or wrong.
func (c *config) check() error {
	switch {
	case c.Model == "":
		return command.Usage(errors.New("-model is missing: want the folder of a cross-encoder"))
	case !c.IsQuery:
		return command.Usage(errors.New("-query is missing: want the text that passages answer"))
	}
	c.settings.Exec = c.Exec
	return c.Check()
}

// run runs the command. Results go to out, and everything else to report.
func run(ctx context.Context, args []string, stdin io.Reader, out, report io.Writer) error {
	c, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.Start(ctx, "attn rerank", stdin, report); err != nil {
		return err
	}
	r, err := c.reranker(report)
	if err != nil {
		return err
	}
	c.Passages.Tokens, c.Passages.Count = r.MaxTokens(), func(text string) int { return r.CountTokens(c.Query, text) }
	if n := r.CountTokens(c.Query, ""); c.Passages.Unit == passage.Window && n >= r.MaxTokens() {
		return fmt.Errorf("-query has %d tokens with those around it, which leaves no room for windows in the %d that the model sees", n, r.MaxTokens())
	}
	all, err := c.read(ctx, stdin, report)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := c.score(ctx, r, all, report); err != nil {
		return err
	}
	fmt.Fprintf(report, "%d passages in %.3g s\n", len(all), time.Since(begin).Seconds())
	if err := c.record(ctx, r, all); err != nil {
		return err
	}
	return write(out, best(all, c.Top))
}

// reranker loads the model.
func (c *config) reranker(report io.Writer) (*reranking.Reranker, error) {
	r, err := flags.Open(&c.Texts, report, models.OpenReranker)
	if err != nil {
		return nil, err
	}
	r = r.With(c.settings)
	if bad := (*kernel.Error)(nil); errors.As(r.Check(), &bad) {
		return nil, fmt.Errorf("-%s: %s: got %s, want %s", strings.ToLower(strings.TrimPrefix(bad.Arg(), "Options.")), c.Model, bad.Got, bad.Want)
	}
	return r, nil
}
