// Package embed is the command attn embed, which turns texts into sentence embeddings, or ranks the
// lines of files by their meaning. By default the model is all-MiniLM-L6-v2, which attn fetch
// downloads.
//
//	attn embed -text 'The cat sits.'                 # a vector as a JSON line
//	attn embed notes.txt -o notes.npy                # one row for each line
//	attn embed -query 'close a file twice' os/*.go   # semantic grep
package embed

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/embedding"
	"github.com/attn-go/attn/models/encoder"
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/internal/flags"
	"github.com/attn-go/attn/models/internal/terminal"
	"github.com/attn-go/attn/models/receipt"
)

// Command is attn embed.
var Command = commands.Command{Name: "embed", Summary: "turns texts into vectors, or finds the lines nearest in meaning to a text", Flags: func() *flag.FlagSet { return new(config).flagSet() }, Main: Main}

// Main runs the command.
func Main(args []string) {
	ctx, stop := command.Context()
	defer stop()
	command.Exit("attn embed", run(ctx, args, os.Stdin, os.Stdout, os.Stderr))
}

// config is a parsed command line.
type config struct {
	flags.Texts
	out      string // "" is standard output
	colour   string // auto, always or never
	prompt   string // for -query; the prompt of texts is in settings
	kind     string // of the numbers that are written
	cache    string // folder; "" keeps no vectors
	noCache  bool
	sparse   bool   // weights of tokens, and no vectors
	tokens   string // vectors of tokens, of texts as queries or documents
	settings embedding.Options
}

const usage = `usage: attn embed [flags] [FILE...]               makes vectors of the lines of files
       attn embed [flags] -text TEXT              makes a vector of a text
       attn embed [flags] -query TEXT [FILE...]   finds the lines nearest to TEXT in meaning

Without a FILE, or with -, attn reads standard input. Flags may follow files.

Vectors have length 1, so the dot product of two is the cosine of their texts. They go to standard
output as JSON lines: {"file", "line", "last_line", "text", "tokens", "cut", "embedding"}. With -query
the output is the cosine, file, line number and text of the best lines. Blank lines do not count.

A text is a line. With -unit paragraph it is the lines between blank ones. With -unit window it is as
many words as the model sees, and neighbouring windows share a quarter.

-model takes BERT and its kin, Qwen3-Embedding, EmbeddingGemma and others: attn inspect PATH tells.

-query keeps vectors in the user's cache folder, so a second search over the same files computes only
new ones; the results are the same. It skips binary files.

The model sees only the first tokens of a long text: 256 with all-MiniLM-L6-v2, some 200 words. A
longer text has "cut": true and gets a warning. With -long error it gives an error. With -long split
its vector is the mean over its pieces. The model does not see bytes that are not UTF-8; the output
has U+FFFD in their place.

After an interrupt (^C) or SIGTERM attn writes the finished vectors. The status is 128 plus the number
of the signal.

`

// flagSet returns the flags, which set c.
func (c *config) flagSet() *flag.FlagSet {
	fs := commands.FlagSet("embed", usage)
	c.Flags(fs, flags.Words{
		DefaultModel: "all-MiniLM-L6-v2",
		Model:        "embedding `model`: a folder as Hugging Face has it, a GGUF file, or a name that attn fetch downloads",
		Text:         "one `text`, also of several lines, before the lines of files; may be repeated",
		Query:        "rank lines by their nearness to `text`", Top: "with -query: how many lines to show", Texts: "vectors",
		Long: []string{"cut", "error", "split"}, LongHelp: "`what` to do with a text longer than the model sees: cut it, give an error, or split it and pool the pieces (default cut)",
	})
	fs.StringVar(&c.out, "o", "", "write to this `file` instead of standard output, even if it exists: .jsonl, or the vectors alone as\n"+
		".npy [texts, width] or .safetensors (tensor embeddings)")
	fs.IntVar(&c.settings.Overlap, "overlap", 0, "with -long split: how many `tokens` neighbouring pieces have in common")
	fs.IntVar(&c.settings.Dimensions, "dimensions", 0, "how many numbers of a vector to keep, for models trained for that; 0 means the model's default, or all")
	fs.StringVar(&c.settings.Prompt, "prompt", "", "`name` of the model's prompt to put before every text (default: the model's; with -query, document or passage, if it has one)")
	fs.StringVar(&c.prompt, "query-prompt", "", "`name` of the model's prompt to put before the text of -query (default query, if the model has it)")
	fs.StringVar(&c.kind, "type", "f32", "`type` of numbers in .npy and .safetensors files: f32 or f16; in .safetensors also int8, with a tensor of scales")
	fs.IntVar(&c.Passages.Context, "context", 0, "with -query: how many `lines` to show before and after a result")
	fs.StringVar(&c.colour, "color", "auto", "with -query: `when` to colour results: always, never, or auto, which means at a terminal")
	fs.StringVar(&c.cache, "cache-dir", "", "with -query: `folder` to keep vectors in (default attn/vectors in the user's cache folder)")
	fs.BoolVar(&c.noCache, "no-cache", false, "with -query: compute all vectors and keep none")
	fs.BoolVar(&c.sparse, "sparse", false, "write sparse token weights instead of vectors, for SPLADE and bge-m3: \"sparse\": {\"indices\", \"values\"}")
	fs.StringVar(&c.tokens, "token-vectors", "", "write a vector for each token instead of one, for ColBERT and bge-m3; the value says what texts are, document or query:\n\"token_ids\", \"token_embeddings\"")
	return fs
}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{Texts: flags.Texts{Load: embedding.LoadOptions{Unit: true}}}
	if err := c.Parse(c.flagSet(), args, help); err != nil {
		return nil, err
	}
	return c, c.check()
}

// check reports settings that do not fit each other.
func (c *config) check() error {
	switch {
	case c.IsQuery && c.out != "":
		return command.Usage(errors.New("-o is for vectors, which -query does not give"))
	case c.Receipt.File != "" && (c.IsQuery || c.Long == "split"):
		return command.Usage(errors.New("-receipt has one vector for each text: it goes with neither -query nor -long split"))
	case c.tokens != "" && c.tokens != "query" && c.tokens != "document":
		return command.Usage(fmt.Errorf("-token-vectors is %q, want query or document", c.tokens))
	case c.sparse && c.tokens != "":
		return command.Usage(errors.New("-sparse and -token-vectors exclude each other"))
	case (c.sparse || c.tokens != "") && (c.IsQuery || c.Receipt.File != "" || c.settings.Dimensions != 0 || c.out != "" && filepath.Ext(c.out) != ".jsonl"):
		name := "-sparse"
		if c.tokens != "" {
			name = "-token-vectors"
		}
		return command.Usage(errors.New(name + " gives JSON lines: it goes with neither -query, -receipt, -dimensions nor -o .npy and .safetensors"))
	case c.tokens != "" && (c.Long == "split" || c.Long == "error" || c.settings.Prompt != ""):
		return command.Usage(errors.New("-token-vectors cuts texts to the lengths of the model, with its prefixes: it goes with neither -long nor -prompt"))
	case c.Receipt.File != "" && filepath.Clean(c.Receipt.File) == filepath.Clean(c.out):
		return command.Usage(fmt.Errorf("-receipt and -o are both %s", c.out))
	case c.Passages.Context < 0:
		return command.Usage(fmt.Errorf("-context is %d, want 0 or more", c.Passages.Context))
	case c.Passages.Context > 0 && !c.IsQuery:
		return command.Usage(errors.New("-context is for -query, which shows lines"))
	case c.colour != "auto" && c.colour != "always" && c.colour != "never":
		return command.Usage(fmt.Errorf("-color is %q, want auto, always or never", c.colour))
	case c.settings.Overlap != 0 && c.Long != "split":
		return command.Usage(errors.New("-overlap is for -long split"))
	case c.prompt != "" && !c.IsQuery:
		return command.Usage(errors.New("-query-prompt is for -query"))
	case !fitsFile(c.kind, filepath.Ext(c.out)):
		return command.Usage(fmt.Errorf("-type is %q, want f32, or f16 for -o .npy and .safetensors, or int8 for .safetensors", c.kind))
	case c.out != "" && formats[filepath.Ext(c.out)] == nil:
		return command.Usage(fmt.Errorf("-o is %s, want a name that ends in .jsonl, .npy or .safetensors", c.out))
	}
	c.settings.Split, c.settings.Exec = c.Long == "split", c.Exec
	return cmp.Or(c.Check(), c.nameFlag(c.settings.Check()))
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
	if err := c.Inputs.CheckOutput("-o", c.out); err != nil {
		return err
	}
	if err := c.Start(ctx, "attn embed", stdin, report); err != nil {
		return err
	}
	e, err := c.embedder(report)
	if err != nil {
		return err
	}
	c.Passages.Tokens, c.Passages.Count = e.MaxTokens(), e.CountTokens
	in, err := c.open(ctx, stdin)
	if err != nil {
		return err
	}
	defer in.close()
	s := &stream{
		embedder: e, in: in, skipBlank: c.IsQuery, store: c.store(e, report), bar: newProgress(report, in.bytes, c.showsBar(out)),
		load: c.Load, lengths: lengthCheck{refuse: c.Long == "error", split: c.settings.Split, max: e.MaxTokens(), count: e.CountTokens}, kind: c.kind,
	}
	if s.receipts, err = c.receipts(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.receipts.Close()) }()
	if c.sparse {
		err = s.writeRecords(ctx, c.out, "texts with weights of tokens", s.sparse, out, report)
	} else if c.tokens != "" {
		err = s.writeRecords(ctx, c.out, "texts with vectors of tokens", func(ctx context.Context, texts []string) (func(h header, i int) any, error) {
			return s.tokens(ctx, texts, c.tokens == "query")
		}, out, report)
	} else if c.IsQuery {
		err = s.rank(ctx, c.asker(e), c.Query, c.Top, out, painter{wantsColours(c.colour, out), c.Passages.Context > 0})
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
	if c.Receipt.File == "" {
		return nil, nil
	}
	d, err := models.Describe(c.Model)
	if err != nil {
		return nil, err
	}
	return receipt.Create(c.Receipt.File, c.Receipt.Key, c.Model, d.Path, d.Architecture, c.Load.LoRA...)
}

// store returns where vectors are found that need not be computed.
func (c *config) store(e *embedding.Embedder, report io.Writer) store {
	s := store{width: e.Width(), unit: c.Passages.Unit.String(), report: report}
	if !c.IsQuery || c.noCache {
		return s
	}
	var err error
	if s.folder = c.cache; s.folder == "" {
		s.folder, err = cacheFolder()
	}
	if err == nil {
		s.model, err = encoder.Digest(c.Model, c.Load)
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
	return len(c.Inputs.Files) > 0 && (c.IsQuery || c.out != "" || !terminal.Is(out))
}

// embedder loads the model.
func (c *config) embedder(report io.Writer) (*embedding.Embedder, error) {
	e, err := flags.Open(&c.Texts, report, models.OpenEmbedder)
	if err != nil {
		return nil, err
	}
	if c.sparse && !e.HasSparse() {
		return nil, fmt.Errorf("-sparse: %s: %w", c.Model, embedding.ErrNotSparse)
	}
	if c.tokens != "" && !e.HasTokenVectors() {
		return nil, fmt.Errorf("-token-vectors: %s: %w", c.Model, embedding.ErrNoTokenVectors)
	}
	o := c.settings
	if o.Prompt == "" && c.IsQuery {
		o.Prompt = firstOf(e.Prompts(), "document", "passage", "corpus") // as sentence-transformers' encode_document
	}
	return e.With(o), nil
}

// asker returns the model with the prompt of -query: the flag's, or else query, as
// sentence-transformers' encode_query takes it, or else the model's.
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
