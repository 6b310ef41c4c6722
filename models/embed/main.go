// Command embed turns texts into sentence embeddings, or ranks the lines of files by their
// meaning. By default the model is all-MiniLM-L6-v2, which make models fetches.
//
//	go run ./models/embed -text 'The cat sits.'                 # a vector as a JSON line
//	go run ./models/embed notes.txt -o notes.npy                # one row for each line
//	go run ./models/embed -query 'close a file twice' os/*.go   # semantic grep
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/internal/loadbar"
	"github.com/attn-go/attn/models/internal/passage"
	"github.com/attn-go/attn/models/internal/terminal"
	"github.com/attn-go/attn/models/receipt"
)

func main() {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("embed", run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// config is a parsed command line.
type config struct {
	model    string
	inputs   command.Inputs
	out      string // "" is standard output
	query    string
	isQuery  bool
	top      int
	colour   string // auto, always or never
	long     string // cut, error or split
	prompt   string // the name of the one of -query; that of the texts is in settings
	kind     string // of the numbers that are written
	cache    string // folder; "" keeps no vectors
	noCache  bool
	receipt  string // a file to write
	signer   string // a file: the key that signs receipts
	sparse   bool   // weights of tokens, and no vectors
	passages passage.Options
	load     embedding.LoadOptions
	settings embedding.Options
}

const usage = `usage: embed [flags] [FILE...]               vectors of the lines of files
       embed [flags] -text TEXT              a vector of the text
       embed [flags] -query TEXT [FILE...]   the lines that are nearest to TEXT in meaning

A FILE that is - stands for standard input, as does leaving it out. Flags may follow files.

Vectors have the length 1, so that the scalar product of two is the cosine of their texts. They go
to standard output as JSON lines: {"file", "line", "last_line", "text", "tokens", "cut", "embedding"}.
With -query the output is the cosine, file, line number and text of the best lines; blank lines do
not count.

A text is a line, or with -unit paragraph the lines between blank ones, or with -unit window as many
words as the model sees, a quarter of which are those of the window before.

-model is a model of any architecture that models.Open takes: BERT and its kin, Qwen3-Embedding,
EmbeddingGemma; go run ./models/inspect PATH tells.

With -query vectors are kept in the user's cache folder, so that a second search over the same files
computes only what is new; the results are the same. Binary files are skipped.

The model sees the first tokens of a long text only: 256 with all-MiniLM-L6-v2, some 200 words. A
text that has more has "cut": true and gets a warning, or is an error with -long error, or becomes the
mean of the vectors of its pieces with -long split.
Bytes that are not UTF-8 are left out for the model and written as U+FFFD.

After an interrupt (^C) or SIGTERM what is done is written, and the status is 128 plus the number of
the signal.

`

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{load: embedding.LoadOptions{Unit: true}}
	fs := flag.NewFlagSet("embed", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	fs.StringVar(&c.model, "model", "all-MiniLM-L6-v2", "`path` of a model of embeddings: a folder as Hugging Face has it, a GGUF file, or the name of one that make models fetches")
	c.inputs.Flag(fs, "a `text` itself, also of several lines, before the lines of all files; may be repeated")
	fs.StringVar(&c.out, "o", "", "`file` to write instead of standard output, overwritten if it exists: .jsonl, or the vectors alone as\n"+
		".npy [texts, width] or .safetensors (tensor embeddings)")
	fs.Func("query", "rank lines by their nearness to `text`", func(s string) error {
		c.query, c.isQuery = s, true
		return nil
	})
	fs.StringVar(&c.long, "long", "cut", "`what` is done with a text of more tokens than the model sees: cut, error, or split, which pools its pieces")
	fs.IntVar(&c.settings.Overlap, "overlap", 0, "with -long split: how many `tokens` neighbouring pieces have in common")
	fs.IntVar(&c.settings.Dimensions, "dimensions", 0, "how many numbers of a vector are kept, for models that were trained for that; 0 keeps all, or what the model says")
	fs.StringVar(&c.settings.Prompt, "prompt", "", "`name` of the model's prompt before every text (default that of the model; with -query document or passage, if it has one)")
	fs.StringVar(&c.prompt, "query-prompt", "", "`name` of the model's prompt before the text of -query (default query, if the model has it)")
	fs.StringVar(&c.kind, "type", "f32", "`type` of the numbers of .npy and .safetensors: f32, f16, or int8 with a tensor of scales, for .safetensors alone")
	unit := fs.String("unit", "line", "`what` a text of a file is: line, paragraph or window")
	fs.IntVar(&c.passages.Context, "context", 0, "with -query: how many `lines` to show before and after a result")
	fs.StringVar(&c.colour, "color", "auto", "with -query: `when` results have colours: always, never or auto, which is at a terminal")
	fs.StringVar(&c.cache, "cache-dir", "", "with -query: `folder` of the vectors that are kept (default attn/vectors in the user's cache folder)")
	fs.BoolVar(&c.noCache, "no-cache", false, "with -query: compute all vectors, and keep none")
	fs.StringVar(&c.receipt, "receipt", "", "`file` to write receipts of the vectors to, as f32, which go run ./models/verify checks")
	fs.StringVar(&c.signer, "receipt-key", "", "`file` of a private key of Ed25519 in PEM that signs receipts")
	fs.BoolVar(&c.sparse, "sparse", false, "instead of vectors the weights of the tokens of each text, for bge-m3: \"sparse\": {\"indices\", \"values\"}")
	fs.IntVar(&c.top, "top", 10, "with -query: how many lines to show")
	fs.BoolVar(&c.load.Int8, "int8", false, "compute with weights and activations of 8 bits, which takes less time; vectors change a little, and\nhave the same bits on every CPU, too")
	command.ExecFlags(fs, &c.settings.Exec)
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	c.inputs.Take(fs)
	var err error
	if c.passages.Unit, err = passage.ParseUnit(*unit); err != nil {
		return nil, command.Usage(fmt.Errorf("-unit: %w", err))
	}
	return c, c.check()
}

// check reports settings that do not fit each other.
func (c *config) check() error {
	switch {
	case c.isQuery && c.out != "":
		return command.Usage(errors.New("-o is for vectors, which -query does not give"))
	case c.isQuery && strings.TrimSpace(c.query) == "":
		return command.Usage(errors.New("-query is empty: want the text to which lines are near"))
	case c.receipt != "" && (c.isQuery || c.long == "split"):
		return command.Usage(errors.New("-receipt has one vector for each text: it goes with neither -query nor -long split"))
	case c.sparse && (c.isQuery || c.receipt != "" || c.settings.Dimensions != 0 || c.out != "" && filepath.Ext(c.out) != ".jsonl"):
		return command.Usage(errors.New("-sparse gives JSON lines: it goes with neither -query, -receipt, -dimensions nor -o .npy and .safetensors"))
	case c.receipt != "" && filepath.Clean(c.receipt) == filepath.Clean(c.out):
		return command.Usage(fmt.Errorf("-receipt and -o are both %s", c.out))
	case c.receipt == "" && c.signer != "":
		return command.Usage(errors.New("-receipt-key signs the receipts of -receipt, which is missing"))
	case c.passages.Context < 0:
		return command.Usage(fmt.Errorf("-context is %d, want 0 or more", c.passages.Context))
	case c.passages.Context > 0 && !c.isQuery:
		return command.Usage(errors.New("-context is for -query, which shows lines"))
	case c.colour != "auto" && c.colour != "always" && c.colour != "never":
		return command.Usage(fmt.Errorf("-color is %q, want auto, always or never", c.colour))
	case c.long != "cut" && c.long != "error" && c.long != "split":
		return command.Usage(fmt.Errorf("-long is %q, want cut, error or split", c.long))
	case c.settings.Overlap != 0 && c.long != "split":
		return command.Usage(errors.New("-overlap is for -long split"))
	case c.prompt != "" && !c.isQuery:
		return command.Usage(errors.New("-query-prompt is for -query"))
	case !fitsFile(c.kind, filepath.Ext(c.out)):
		return command.Usage(fmt.Errorf("-type is %q, want f32, or f16 for -o .npy and .safetensors, or int8 for .safetensors", c.kind))
	case c.top < 1:
		return command.Usage(fmt.Errorf("-top is %d, want 1 or more", c.top))
	case c.out != "" && formats[filepath.Ext(c.out)] == nil:
		return command.Usage(fmt.Errorf("-o is %s, want a name that ends in .jsonl, .npy or .safetensors", c.out))
	}
	c.settings.Split = c.long == "split"
	if err := command.CheckExec(c.settings.Exec); err != nil {
		return err
	}
	return c.nameFlag(c.settings.Check())
}

// flagOf are the flags that set the options of package embedding.
var flagOf = map[string]string{"Options.Overlap": "-overlap", "Options.Dimensions": "-dimensions", "Options.Prompt": "-prompt"}

// nameFlag turns an error about an option into one about the flag that sets it.
func (c *config) nameFlag(err error) error {
	var bad *kernel.Error
	if !errors.As(err, &bad) || flagOf[bad.Arg()] == "" {
		return err
	}
	name := flagOf[bad.Arg()]
	if name == "-prompt" && bad.Got != strconv.Quote(c.settings.Prompt) {
		name = "-query-prompt"
	}
	return command.Usage(fmt.Errorf("%s is %s, want %s", name, bad.Got, bad.Want))
}

// run runs the command. What it makes goes to out, and everything else to report.
func run(ctx context.Context, args []string, stdin io.Reader, out, report io.Writer) (err error) {
	c, err := parse(args, out)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.inputs.Check(report); err != nil {
		return err
	}
	if err := c.inputs.CheckOutput("-o", c.out); err != nil {
		return err
	}
	if err := c.inputs.CheckOutput("-receipt", c.receipt); err != nil {
		return err
	}
	if slices.Contains(c.inputs.Files, "-") && terminal.Is(stdin) {
		fmt.Fprintln(report, "embed: reading lines of the standard input, which ^D ends")
	}
	e, err := c.embedder()
	if err != nil {
		return err
	}
	c.passages.Tokens, c.passages.Count = e.MaxTokens(), e.CountTokens
	in, err := c.open(ctx, stdin)
	if err != nil {
		return err
	}
	defer in.close()
	s := &stream{
		embedder: e, in: in, skipBlank: c.isQuery, store: c.store(e, report), bar: newProgress(report, in.bytes, c.showsBar(out)),
		load: c.load, lengths: lengthCheck{refuse: c.long == "error", split: c.settings.Split, max: e.MaxTokens(), count: e.CountTokens}, kind: c.kind,
	}
	if s.receipts, err = c.receipts(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.receipts.Close()) }()
	if c.sparse {
		err = s.writeSparse(ctx, c.out, out, report)
	} else if c.isQuery {
		err = s.rank(ctx, c.asker(e), c.query, c.top, out, painter{wantsColours(c.colour, out), c.passages.Context > 0})
	} else {
		err = s.write(ctx, c.out, out, report)
	}
	if s.summary(report); s.texts == 0 && err == nil {
		fmt.Fprintln(report, "there is no text in the input")
	}
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("not all texts are done: %w", context.Cause(ctx))
	}
	return c.nameFlag(err)
}

// receipts makes the file of -receipt.
func (c *config) receipts() (*receipt.Writer, error) {
	if c.receipt == "" {
		return nil, nil
	}
	d, err := models.Describe(c.model)
	if err != nil {
		return nil, err
	}
	return receipt.Create(c.receipt, c.signer, c.model, d.Path, d.Architecture)
}

// store returns where vectors are found that need not be computed.
func (c *config) store(e *embedding.Embedder, report io.Writer) store {
	s := store{width: e.Width(), unit: c.passages.Unit.String(), report: report}
	if !c.isQuery || c.noCache {
		return s
	}
	var err error
	if s.folder = c.cache; s.folder == "" {
		s.folder, err = cacheFolder()
	}
	if err == nil {
		s.model, err = encoder.Digest(c.model, c.load)
	}
	if o := e.Options(); o.Dimensions != 0 || o.Split || o.Prompt != "" { // vectors depend on these, too
		s.model = sha256.Sum256(fmt.Appendf(s.model[:], " %d %t %d %q", o.Dimensions, o.Split, o.Overlap, o.Prompt))
	}
	if err != nil {
		s.folder = ""
		s.warn(err)
	}
	return s
}

// showsBar returns whether a progress bar makes sense: for files, unless vectors appear on the
// same terminal.
func (c *config) showsBar(out io.Writer) bool {
	return len(c.inputs.Files) > 0 && (c.isQuery || c.out != "" || !terminal.Is(out))
}

// embedder loads the model.
func (c *config) embedder() (*embedding.Embedder, error) {
	load := c.load
	var end func()
	load.Progress, end = loadbar.New(os.Stderr)
	e, err := models.OpenEmbedder(c.model, load)
	end()
	if bad := (*kernel.Error)(nil); errors.As(err, &bad) && (bad.Arg() == "LoadOptions.Int8" || bad.Arg() == "Options.DynamicInt8") {
		return nil, fmt.Errorf("-int8: %s: got %s, want %s", c.model, bad.Got, bad.Want)
	}
	if err != nil {
		return nil, err
	}
	if c.sparse && !e.HasSparse() {
		return nil, fmt.Errorf("-sparse: %s: %w", c.model, embedding.ErrNotSparse)
	}
	o := c.settings
	if o.Prompt == "" && c.isQuery {
		o.Prompt = firstOf(e.Prompts(), "document", "passage", "corpus") // as sentence-transformers' encode_document
	}
	return e.With(o), nil
}

// asker returns the model with the prompt of -query: that of the flag, or else query, as
// sentence-transformers' encode_query takes it, or else that of the model.
func (c *config) asker(e *embedding.Embedder) *embedding.Embedder {
	o := c.settings
	if o.Prompt = c.prompt; o.Prompt == "" {
		o.Prompt = firstOf(e.Prompts(), "query")
	}
	return e.With(o)
}

// firstOf returns the first name that a model has a prompt for, "" if there is none.
func firstOf(prompts map[string]string, names ...string) string {
	for _, name := range names {
		if _, ok := prompts[name]; ok {
			return name
		}
	}
	return ""
}
