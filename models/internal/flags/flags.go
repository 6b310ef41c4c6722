// Package flags defines once the flags that several commands have: their names, defaults and texts,
// and what is refused.
package flags

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/internal/loadbar"
	"github.com/attn-go/attn/models/internal/passage"
	"github.com/attn-go/attn/models/internal/terminal"
	"github.com/attn-go/attn/models/receipt"
	"github.com/attn-go/attn/models/weights"
)

// A Receipt names the file of receipts that a command writes, and the file of the key that signs
// them; "" for none.
type Receipt struct{ File, Key string }

// Flags defines -receipt, for receipts of something, and -receipt-key.
func (r *Receipt) Flags(fs *flag.FlagSet, of string) {
	fs.StringVar(&r.File, "receipt", "", "write receipts of "+of+" to this `file`, one a line; attn verify checks them")
	ReceiptKey(fs, func(path string) error { r.Key = path; return nil })
}

// ReceiptKey defines -receipt-key alone, whose file set gets.
func ReceiptKey(fs *flag.FlagSet, set func(path string) error) {
	fs.Func("receipt-key", "sign receipts with the private Ed25519 key in this PEM `file`", set)
}

// Check returns a usage error for a key without receipts, and one about a key that cannot be read.
func (r *Receipt) Check() error {
	if r.Key == "" {
		return nil
	}
	if r.File == "" {
		return command.Usage(errors.New("-receipt-key signs the receipts of -receipt, which is missing"))
	}
	if _, err := receipt.ReadKey(r.Key); err != nil {
		return fmt.Errorf("-receipt-key %s: %w", r.Key, err)
	}
	return nil
}

// Fetch is whether models may be fetched from a hub.
type Fetch bool

// Flag defines -fetch.
func (f *Fetch) Flag(fs *flag.FlagSet) {
	fs.BoolVar((*bool)(f), "fetch", false, "on first use, download a model named ORG/NAME, ORG/NAME@REVISION or ORG/NAME:FILE from huggingface.co or the hub at ATTN_HUB")
}

// Allow lets models be fetched if the flag is set, until ctx ends. report gets a line for each
// file.
func (f Fetch) Allow(ctx context.Context, report io.Writer) {
	if f {
		weights.AllowFetch(ctx, report)
	}
}

// Texts are what the commands have in common that turn texts into numbers: a model, texts, of files
// or not, and a query to which the best ones are shown.
type Texts struct {
	Model    string
	Inputs   command.Inputs
	Query    string
	IsQuery  bool
	Top      int
	Long     string // what is done with a text of more tokens than the model sees
	Passages passage.Options
	Receipt  Receipt
	Fetch    Fetch
	Load     embedding.LoadOptions
	Exec     kernel.Exec
}

// Words are how the flags of a command speak of its texts.
type Words struct {
	Model, DefaultModel string
	Text                string // what -text is
	Texts               string // what is made of them, in receipts and by -precision
	Query, Top          string
	Long                []string // the values of -long, the default first
	LongHelp            string
}

// Flags defines the flags that set t.
func (t *Texts) Flags(fs *flag.FlagSet, w Words) {
	fs.StringVar(&t.Model, "model", w.DefaultModel, w.Model)
	t.Inputs.Flag(fs, w.Text)
	fs.Func("query", w.Query, func(s string) error {
		t.Query, t.IsQuery = s, true
		return nil
	})
	fs.IntVar(&t.Top, "top", 10, w.Top)
	t.Long = w.Long[0]
	Choice(fs, "long", w.LongHelp, w.Long, func(word string) { t.Long = word })
	fs.Func("unit", "`unit` of text in a file: line, paragraph or window (default line)", func(s string) (err error) {
		t.Passages.Unit, err = passage.ParseUnit(s)
		return err
	})
	Precision(fs, &t.Load.Precision, w.Texts)
	t.Receipt.Flags(fs, "all "+w.Texts)
	t.Fetch.Flag(fs)
	command.ExecFlags(fs, &t.Exec)
	command.KeepPackedFlag(fs, &t.Load.KeepPacked)
	command.LoRAFlag(fs, &t.Load.LoRA)
}

// Parse parses a command line: flags and files. If it asks for help, help gets that.
func (t *Texts) Parse(fs *flag.FlagSet, args []string, help io.Writer) error {
	if err := command.Parse(fs, args, help); err != nil {
		return err
	}
	t.Inputs.Take(fs)
	return nil
}

// Check reports settings that do not fit each other, as a [command.UsageError].
func (t *Texts) Check() error {
	switch {
	case t.IsQuery && strings.TrimSpace(t.Query) == "":
		return command.Usage(errors.New("-query is empty: want the text to which others are near, or that they answer"))
	case t.Top < 1:
		return command.Usage(fmt.Errorf("-top is %d, want 1 or more", t.Top))
	}
	return cmp.Or(t.Receipt.Check(), command.CheckExec(t.Exec))
}

// Start checks the inputs and the file of receipts, and says that a command of this name waits for
// a terminal.
func (t *Texts) Start(ctx context.Context, name string, stdin io.Reader, report io.Writer) error {
	t.Fetch.Allow(ctx, report)
	if err := t.Inputs.Check(report); err != nil {
		return err
	}
	if err := t.Inputs.CheckOutput("-receipt", t.Receipt.File); err != nil {
		return err
	}
	if slices.Contains(t.Inputs.Files, "-") && terminal.Is(stdin) {
		fmt.Fprintf(report, "%s: reading lines of the standard input, which ^D ends\n", name)
	}
	return nil
}

// Open loads the model, with a bar on a terminal. An error about a precision that the model does
// not have names the flag.
func Open[M any](t *Texts, report io.Writer, open func(path string, o embedding.LoadOptions) (M, error)) (M, error) {
	load := t.Load
	var end func()
	load.Progress, end = loadbar.New(report)
	m, err := open(t.Model, load)
	end()
	if bad := (*kernel.Error)(nil); errors.As(err, &bad) && strings.HasSuffix(bad.Where, "Options.Precision") {
		err = fmt.Errorf("-precision: %s: got %s, want %s", t.Model, bad.Got, bad.Want)
	}
	return m, err
}

// Choice defines a flag that takes any of several words, which set gets.
func Choice(fs *flag.FlagSet, name, usage string, words []string, set func(word string)) {
	fs.Func(name, usage, func(s string) error {
		if !slices.Contains(words, s) {
			last := len(words) - 1
			return fmt.Errorf("want %s or %s", strings.Join(words[:last], ", "), words[last])
		}
		set(s)
		return nil
	})
}
