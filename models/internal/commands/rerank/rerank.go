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

Without a FILE, or with -, attn reads standard input. Flags may follow files.

The passages that answer TEXT best go to standard output, best first, as JSON lines: {"score", "file",
"line", "last_line", "text", "tokens", "cut"}. A score is a logit: higher is better, and 1/(1+e^-score)
is the probability that the model gives the passage. A model with several labels has a difference of logits,
such as yes minus no. Equal scores keep the order of the input.

A passage is a line. With -unit paragraph it is the lines between blank ones. With -unit window it is as many
words as the model sees beside the query, and neighbouring windows share a quarter. Blank lines do not count,
and attn skips binary files.

"tokens" counts the query and the passage together, and the model's prompt around them. If they are more than
the model sees, attn cuts the end of the longer one, or of the passage if there is a prompt. Such a passage has
"cut": true and gets a warning; with -long error it gives an error. The model does not see bytes that are not
UTF-8; the output has U+FFFD in their place.

attn scores all passages before it writes the first. After an interrupt (^C) or SIGTERM it writes nothing, and
the status is 128 plus the number of the signal.

`

// flagSet returns the flags, which set c.
func (c *config) flagSet() *flag.FlagSet {
	fs := commands.FlagSet("rerank", usage)
	c.Flags(fs, flags.Words{
		Model: "reranking `model`: a folder as Hugging Face has it, or a GGUF file",
		Text:  "one passage, a `text` also of several lines, before the passages of files; may be repeated",
		Query: "`text` that the passages should answer", Top: "how many passages to write", Texts: "scores",
		Long: []string{"cut", "error"}, LongHelp: "`what` to do with a passage longer than the model sees: cut it, or give an error (default cut)",
	})
	fs.StringVar(&c.settings.Instruction, "instruction", "", "`text` that tells models such as Qwen3-Reranker what a good answer is (default: the model's)")
	fs.StringVar(&c.settings.Label, "label", "", "`name` of the label to score by, such as entailment, for models with several labels")
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
