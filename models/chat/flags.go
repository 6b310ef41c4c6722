package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/grammar"
)

// config is a parsed command line.
type config struct {
	model    string
	inputs   command.Inputs // of prompts; none at a terminal means a conversation
	system   string
	date     chattemplate.Date // for templates that write one
	raw      bool
	lines    bool
	n        int
	schema   string // a file
	grammar  string // a file
	receipt  string // a file to write
	signer   string // a file: the key that signs receipts
	options  decoder.Options
	generate decoder.GenerateOptions
}

// cacheTypes are the values of -cache.
var cacheTypes = []struct {
	name string
	kind kernel.DType
}{{"f32", kernel.Float32}, {"f16", kernel.Float16}, {"bf16", kernel.BFloat16}, {"int8", kernel.Int8}, {"int4", kernel.Int4}}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("chat", flag.ContinueOnError)
	fs.Usage = func() { usage(fs) }
	f := c.define(fs)
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	c.inputs.Take(fs)
	if err := c.finish(f); err != nil {
		return nil, command.Usage(err)
	}
	if err := command.CheckExec(c.options.Exec); err != nil {
		return nil, err
	}
	return c, inFlags(cmp.Or(c.options.Check(), c.generate.Check()))
}

func usage(fs *flag.FlagSet) {
	fmt.Fprint(fs.Output(), "usage: chat [flags] -text PROMPT         answers a prompt\n"+
		"       chat [flags] [-text PROMPT] FILE  answers what a file has, below the prompt if there is one\n"+
		"       chat [flags]                      holds a conversation at a terminal, or answers the standard input\n\n"+
		"The answers are those of a language model. Text goes to standard output, the\n"+
		"speed to standard error. ^C ends an answer. Flags may follow files.\n\n")
	fs.PrintDefaults()
}

// choices are the values of flags that are not variables of the config as they are.
type choices struct {
	cache, values, activations, attention *string
	window                                *int
}

// define defines the flags. It returns those that need more than a variable of the config.
func (c *config) define(fs *flag.FlagSet) (f choices) {
	sampler := &c.generate.Sampler
	fs.StringVar(&c.model, "model", "SmolLM2-135M-Instruct", "GGUF `file` or folder of a model, or the name of one that make models fetches")
	c.inputs.Flag(fs, "the `prompt`; may be repeated, and files follow it")
	fs.StringVar(&c.system, "system", "", "`text` that tells the model how to answer (default what the file's template says)")
	fs.Var(&c.date, "date", "`day` that a template which writes the date takes for today: YYYY-MM-DD, or today for the clock's (default 2024-07-26)")
	fs.BoolVar(&c.raw, "raw", false, "continue the prompt as it is, without the file's template; special tokens in it are parsed")
	fs.BoolVar(&c.lines, "lines", false, "take every line for a prompt, and answer up to 16 side by side")
	fs.IntVar(&c.n, "n", 1, "answers to each prompt, made side by side, the first with -seed, the next with the next seed")
	fs.IntVar(&c.generate.MaxTokens, "max", 512, "most tokens of an answer; 0 means until the context is full")
	fs.Float64Var(&sampler.Temperature, "temp", 0.2, "temperature: 1 draws tokens by the model's probabilities, less prefers probable ones,\n0 always takes the most probable one")
	fs.IntVar(&sampler.TopK, "top-k", 40, "draw from this many most probable tokens; 0 means all")
	command.Float(fs, &sampler.TopP, "top-p", 0.9, decoder.LeastTopP, "draw from the most probable tokens with this `share` of the probability; 0 means the most probable one, 1 means all")
	fs.Float64Var(&sampler.MinP, "min-p", 0, "draw from the tokens that are at least this many times as probable as the most probable one; 0 means all")
	fs.Float64Var(&sampler.RepetitionPenalty, "repeat-penalty", 1, "divides positive logits of tokens that the last ones have, and multiplies others; 1 changes nothing")
	f.window = fs.Int("repeat-last-n", 64, "number of last tokens, prompt included, in which the penalties look; -1 means all, 0 no penalties")
	fs.Float64Var(&sampler.PresencePenalty, "presence-penalty", 0, "taken off the logit of a token that the last ones have")
	fs.Float64Var(&sampler.FrequencyPenalty, "frequency-penalty", 0, "taken off the logit of a token for each time that the last ones have it")
	fs.StringVar(&c.schema, "json-schema", "", "`file` of a JSON Schema that answers satisfy, see package grammar")
	fs.StringVar(&c.grammar, "grammar", "", "`file` of a grammar in llama.cpp's form (GBNF) that answers are texts of")
	fs.Func("stop", "`text` that ends an answer, and is no part of it; may be repeated", func(s string) error {
		c.generate.StopText = append(c.generate.StopText, s)
		return nil
	})
	fs.StringVar(&c.receipt, "receipt", "", "`file` to write receipts of all answers to, one a line, which go run ./models/verify checks")
	fs.StringVar(&c.signer, "receipt-key", "", "`file` of a private key of Ed25519 in PEM that signs receipts")
	fs.Uint64Var(&sampler.Seed, "seed", 1, "seed of the random draws; the same seed gives the same text on every CPU")
	fs.IntVar(&c.generate.Draft, "draft", 0, "most tokens to guess from earlier ones and check together; changes the speed, not the text")
	fs.IntVar(&c.options.Context, "ctx", 0, "most `tokens` of a conversation (default what the model was trained for, at most 4096)")
	f.cache = fs.String("cache", "f32", "type of the keys and values that are kept: f32, f16, bf16, int8 or int4, which takes the least memory and costs the most accuracy")
	f.values = fs.String("cache-values", "", "type of the values alone, of which int4 costs less than of keys (default that of -cache)")
	fs.BoolVar(&c.options.Unrotated, "unrotated", false, "keep keys and values of int4 as they are: they are rotated before they are rounded, which loses less")
	f.activations = fs.String("activations", "f32", "what layers with weights of 8 or 4 bits compute with: f32, or int8, with which a prompt takes about half of\nthe time, and the text is another one, but still the same on every CPU")
	f.attention = fs.String("attention", "f32", "what attention computes with: f32, or integers, with which tokens after long texts take less time, the least with a\ncache of int8; the text is another one, but still the same on every CPU")
	command.ExecFlags(fs, &c.options.Exec)
	return f
}

// finish checks what the flag package does not.
func (c *config) finish(f choices) error {
	keys, ok := cacheType(*f.cache)
	values, alone := cacheType(cmp.Or(*f.values, *f.cache))
	switch {
	case !ok:
		return fmt.Errorf("-cache is %q, want f32, f16, bf16, int8 or int4", *f.cache)
	case !alone || values == kernel.Float32 && keys != values:
		return fmt.Errorf("-cache-values is %q, want f16, bf16, int8 or int4", *f.values)
	case *f.activations != "f32" && *f.activations != "int8":
		return fmt.Errorf("-activations is %q, want f32 or int8", *f.activations)
	case *f.attention != "f32" && *f.attention != "integers":
		return fmt.Errorf("-attention is %q, want f32 or integers", *f.attention)
	case *f.attention == "integers" && (keys != kernel.Int8 && keys != kernel.Int4 || values != kernel.Int8 && values != kernel.Int4):
		return errors.New("-attention integers needs a -cache of int8 or int4")
	case c.n < 1 || c.n > 1024:
		return fmt.Errorf("-n is %d, want 1 to 1024", c.n)
	case *f.window < -1:
		return fmt.Errorf("-repeat-last-n is %d, want -1 or more", *f.window)
	case c.schema != "" && c.grammar != "":
		return errors.New("-json-schema and -grammar are one or the other")
	case c.receipt == "" && c.signer != "":
		return errors.New("-receipt-key signs the receipts of -receipt, which is missing")
	case c.raw && c.system != "":
		return errors.New("-system is a part of the template, which -raw leaves out")
	}
	c.options.CacheType, c.options.CacheValueType, c.options.DynamicInt8 = keys, values, *f.activations == "int8"
	c.options.DynamicInt12 = *f.attention == "integers"
	c.generate.Sampler.PenaltyWindow = max(0, *f.window)
	if *f.window == 0 {
		s := &c.generate.Sampler
		s.RepetitionPenalty, s.PresencePenalty, s.FrequencyPenalty = 1, 0, 0
	}
	return nil
}

// readGrammar reads the file of -json-schema or -grammar.
func (c *config) readGrammar(ctx context.Context) error {
	name, read := c.schema, grammar.FromSchema
	if c.grammar != "" {
		name, read = c.grammar, func(data []byte) (*grammar.Grammar, error) { return grammar.Parse(string(data)) }
	}
	if name == "" {
		return nil
	}
	data, err := command.ReadFile(ctx, name)
	if err != nil {
		return err
	}
	if c.generate.Grammar, err = read(data); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// cacheType returns the type with a name of cacheTypes.
func cacheType(name string) (kind kernel.DType, ok bool) {
	for _, x := range cacheTypes {
		if x.name == name {
			return x.kind, true
		}
	}
	return 0, false
}

// flagOf are the flags that set the options of package decoder.
var flagOf = map[string]string{
	"Options.Context": "-ctx", "Options.DynamicInt8": "-activations int8", "GenerateOptions.MaxTokens": "-max", "GenerateOptions.Draft": "-draft", "GenerateOptions.StopText": "-stop", "Sampler.Temperature": "-temp",
	"Sampler.TopK": "-top-k", "Sampler.TopP": "-top-p", "Sampler.MinP": "-min-p", "Sampler.RepetitionPenalty": "-repeat-penalty",
	"Sampler.PresencePenalty": "-presence-penalty", "Sampler.FrequencyPenalty": "-frequency-penalty",
}

// inFlags returns an error about an option as one about the flag that sets it.
func inFlags(err error) error {
	var bad *kernel.Error
	if !errors.As(err, &bad) {
		return err
	}
	name, _, _ := strings.Cut(bad.Arg(), "[") // of one of several texts
	if flagOf[name] != "" {
		return command.Usage(fmt.Errorf("%s is %s, want %s", flagOf[name], bad.Got, bad.Want))
	}
	return err
}
