package chat

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/attn-go/attn/models/internal/commands"
	"github.com/attn-go/attn/models/internal/flags"
)

// config is a parsed command line.
type config struct {
	model     string
	draft     string         // a model
	inputs    command.Inputs // of prompts; none at a terminal means a conversation
	system    string
	date      chattemplate.Date // for templates that write one
	raw       bool
	variables map[string]any // of the template
	lines     bool
	n         int
	schema    string // a file
	grammar   string // a file
	receipt   flags.Receipt
	fetch     flags.Fetch
	options   decoder.Options
	generate  decoder.GenerateOptions
}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := commands.FlagSet("chat", usage)
	window := c.define(fs)
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	c.inputs.Take(fs)
	said := false
	fs.Visit(func(f *flag.Flag) { said = said || f.Name == "draft" })
	switch {
	case said && c.generate.Draft == 0 && (c.draft != "" || c.options.MTP):
		return nil, command.Usage(errors.New("-draft is 0, want 1 or more with -draft-model or -mtp"))
	case said:
	case c.draft != "":
		c.generate.Draft = 4
	case c.options.MTP:
		c.generate.Draft = 1
	}
	if err := c.finish(*window); err != nil {
		return nil, command.Usage(err)
	}
	if err := command.CheckExec(c.options.Exec); err != nil {
		return nil, err
	}
	return c, cmp.Or(c.language().Check(), c.receipt.Check(), inFlags(cmp.Or(c.options.Check(), c.generate.Check())))
}

const usage = `usage: attn chat [flags] -text PROMPT         answers a prompt
       attn chat [flags] [-text PROMPT] FILE  answers a prompt with the text of FILE below it, or FILE alone
       attn chat [flags]                      holds a conversation at a terminal, or answers standard input

Answers with a language model. The answer goes to standard output, the speed to standard error. ^C ends an
answer. Flags may follow files.

`

// flagSet returns the flags.
func flagSet() *flag.FlagSet {
	fs := commands.FlagSet("chat", usage)
	new(config).define(fs)
	return fs
}

// language are the settings of the model.
func (c *config) language() flags.Language {
	o := &c.options
	return flags.Language{Context: &o.Context, CacheType: &o.CacheType, CacheValueType: &o.CacheValueType, Unrotated: &o.Unrotated, Integers: &o.DynamicInt12, Precision: &o.Precision}
}

// define defines the flags. It returns the value of -repeat-last-n.
func (c *config) define(fs *flag.FlagSet) (window *int) {
	sampler := &c.generate.Sampler
	fs.StringVar(&c.model, "model", "SmolLM2-135M-Instruct", "`model`: a GGUF file, a folder, or a name that attn fetch downloads")
	c.inputs.Flag(fs, "the `prompt`; may be repeated, and files follow it")
	fs.StringVar(&c.system, "system", "", "system prompt, a `text` that tells the model how to answer (default: the template's)")
	fs.BoolVar(&c.raw, "raw", false, "continue the prompt as it is, without the chat template; special tokens in it count")
	fs.Func("var", "`NAME=VALUE` for the chat template, such as enable_thinking=false. A value that is not JSON is a string; may be repeated", c.setVariable)
	fs.BoolVar(&c.lines, "lines", false, "treat each line as a prompt, and answer up to 16 at once")
	fs.IntVar(&c.n, "n", 1, "answers to each prompt, computed together; the seeds are -seed, -seed+1 and so on")
	fs.IntVar(&c.generate.MaxTokens, "max", 512, "most tokens of an answer; 0 means until the context is full")
	flags.Sampler(fs, sampler, &c.date, "")
	fs.Float64Var(&sampler.RepetitionPenalty, "repeat-penalty", 1, "divide positive logits of recent tokens by this, and multiply negative ones; 1 changes nothing")
	window = fs.Int("repeat-last-n", 64, "how many recent tokens, prompt included, the penalties look at; -1 means all, 0 no penalties")
	fs.Float64Var(&sampler.PresencePenalty, "presence-penalty", 0, "subtract this from the logits of recent tokens")
	fs.Float64Var(&sampler.FrequencyPenalty, "frequency-penalty", 0, "subtract this from the logit of a token for each time it is among the recent ones")
	fs.StringVar(&c.schema, "json-schema", "", "answers satisfy the JSON Schema in this `file`, see package grammar")
	fs.StringVar(&c.grammar, "grammar", "", "answers satisfy the grammar in this `file`, in llama.cpp's form (GBNF)")
	fs.Func("stop", "`text` that ends an answer and is not part of it; may be repeated", func(s string) error {
		c.generate.StopText = append(c.generate.StopText, s)
		return nil
	})
	fs.IntVar(&c.generate.Draft, "draft", 0, "guess up to this many tokens from earlier text, and check them together; changes the speed, not the text")
	fs.StringVar(&c.draft, "draft-model", "", "let a smaller `model` with the same vocabulary guess, -draft tokens, 4 by default")
	fs.BoolVar(&c.options.MTP, "mtp", false, "let the model's own layer for further tokens guess, -draft tokens, 1 by default; DeepSeek V3, GLM 4.5 to 4.7, Qwen3-Next,\nQwen3.5 and folders of Nemotron H have one")
	c.receipt.Flags(fs, "all answers")
	c.fetch.Flag(fs)
	c.language().Flags(fs)
	command.ExecFlags(fs, &c.options.Exec)
	command.KeepPackedFlag(fs, &c.options.KeepPacked)
	command.LoRAFlag(fs, &c.options.LoRA)
	return window
}

// setVariable adds the variable of a -var.
func (c *config) setVariable(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("want NAME=VALUE")
	}
	if c.variables == nil {
		c.variables = map[string]any{}
	}
	if c.variables[name] = value; json.Valid([]byte(value)) {
		c.variables[name] = json.RawMessage(value)
	}
	return nil
}

// finish checks what the flag package does not.
func (c *config) finish(window int) error {
	switch {
	case c.n < 1 || c.n > 1024:
		return fmt.Errorf("-n is %d, want 1 to 1024", c.n)
	case window < -1:
		return fmt.Errorf("-repeat-last-n is %d, want -1 or more", window)
	case c.options.MTP && c.draft != "":
		return errors.New("-mtp and -draft-model are one or the other")
	case c.schema != "" && c.grammar != "":
		return errors.New("-json-schema and -grammar are one or the other")
	case c.raw && (c.system != "" || c.variables != nil):
		return errors.New("-system and -var are for the template, which -raw leaves out")
	}
	c.generate.Sampler.PenaltyWindow = max(0, window)
	if window == 0 {
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

// flagOf are the flags that set the options of package decoder.
var flagOf = map[string]string{
	"Options.Context": "-ctx", "Options.Precision": "-precision", "GenerateOptions.MaxTokens": "-max", "GenerateOptions.Draft": "-draft", "GenerateOptions.DraftModel": "-draft-model", "Options.MTP": "-mtp", "GenerateOptions.StopText": "-stop", "Sampler.Temperature": "-temp",
	"Sampler.TopK": "-top-k", "Sampler.TopP": "-top-p", "Sampler.MinP": "-min-p", "Sampler.RepetitionPenalty": "-repeat-penalty",
	"Sampler.PresencePenalty": "-presence-penalty", "Sampler.FrequencyPenalty": "-frequency-penalty",
}

// inFlags returns an error about an option as one about the flag that sets it.
func inFlags(err error) error {
	var bad *kernel.Error
	if !errors.As(err, &bad) {
		return err
	}
	name, _, _ := strings.Cut(bad.Arg(), "[") // for a place in several texts
	if flagOf[name] != "" {
		return command.Usage(fmt.Errorf("%s is %s, want %s", flagOf[name], bad.Got, bad.Want))
	}
	return err
}
