package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/llama"
	"github.com/attn-go/attn/models/weights"
)

// config is a parsed command line.
type config struct {
	model    string // path; "" is SmolLM2 where make models puts it
	prompt   string // "" asks for a conversation, or for the input
	system   string
	raw      bool
	lines    bool
	n        int
	options  llama.Options
	generate llama.GenerateOptions
}

// cacheTypes are the values of -cache.
var cacheTypes = []struct {
	name string
	kind kernel.DType
}{{"f32", kernel.Float32}, {"f16", kernel.Float16}, {"bf16", kernel.BFloat16}, {"int8", kernel.Int8}}

// parse parses the command line. If it asks for help, help gets it.
func parse(args []string, help io.Writer) (*config, error) {
	c := &config{}
	fs := flag.NewFlagSet("chat", flag.ContinueOnError)
	fs.Usage = func() { usage(fs) }
	cache, sampler := c.define(fs)
	if err := command.Parse(fs, args, help); err != nil {
		return nil, err
	}
	if err := c.finish(fs, *cache, sampler); err != nil {
		return nil, command.Usage(err)
	}
	return c, nil
}

func usage(fs *flag.FlagSet) {
	fmt.Fprint(fs.Output(), "usage: chat [flags] [prompt]\n\n"+
		"Answers a prompt, which is -p, the arguments or the standard input, with a language model of the\n"+
		"Llama family. Without any of them, at a terminal, it holds a conversation. Text goes to standard\n"+
		"output, the speed to standard error. ^C ends an answer.\n\n")
	fs.PrintDefaults()
}

// define defines the flags. It returns what needs more than a variable of the config.
func (c *config) define(fs *flag.FlagSet) (cache *string, sampler *llama.Sampler) {
	sampler = &c.generate.Sampler
	fs.StringVar(&c.model, "model", "", "GGUF `file` of a Llama-type model (default SmolLM2-135M-Instruct, which make models fetches)")
	fs.StringVar(&c.prompt, "p", "", "`prompt`")
	fs.StringVar(&c.system, "system", "", "`text` that tells the model how to answer (default what the file's template says)")
	fs.BoolVar(&c.raw, "raw", false, "continue the prompt as it is, without the file's template; special tokens in it are parsed")
	fs.BoolVar(&c.lines, "lines", false, "take every line of the standard input for a prompt, and answer up to 16 side by side")
	fs.IntVar(&c.n, "n", 1, "answers to each prompt, made side by side, the first with -seed, the next with the next seed")
	fs.IntVar(&c.generate.MaxTokens, "max", 512, "most tokens of an answer; 0 means until the context is full")
	fs.Float64Var(&sampler.Temperature, "temp", 0.2, "temperature: 1 draws tokens by the model's probabilities, less prefers probable ones,\n0 always takes the most probable one")
	fs.IntVar(&sampler.TopK, "top-k", 40, "draw from this many most probable tokens; 0 means all")
	fs.Float64Var(&sampler.TopP, "top-p", 0.9, "draw from the most probable tokens with this share of the probability; 0 or 1 means all")
	fs.Float64Var(&sampler.RepetitionPenalty, "penalty", 1, "divides what speaks for tokens that the text already has; 1 changes nothing")
	fs.Uint64Var(&sampler.Seed, "seed", 1, "seed of the random draws; the same seed gives the same text on every CPU")
	fs.IntVar(&c.generate.Draft, "draft", 0, "most tokens to guess from earlier ones and check together; changes the speed, not the text")
	fs.IntVar(&c.options.Context, "ctx", 0, "most `tokens` of a conversation (default what the model was trained for, at most 4096)")
	cache = fs.String("cache", "f32", "type of the keys and values that are kept: f32, f16, bf16 or int8")
	fs.StringVar(&c.options.Tier, "tier", "", "`name` of the implementation, such as generic or avx2 (default the best on this CPU)")
	fs.IntVar(&c.options.Threads, "threads", 0, "most threads to use; 0 means all")
	return cache, sampler
}

// finish takes the arguments for the prompt and checks what the flag package does not.
func (c *config) finish(fs *flag.FlagSet, cache string, sampler *llama.Sampler) error {
	i := slices.IndexFunc(cacheTypes[:], func(x struct {
		name string
		kind kernel.DType
	}) bool {
		return x.name == cache
	})
	switch {
	case i < 0:
		return fmt.Errorf("-cache is %q, want f32, f16, bf16 or int8", cache)
	case c.prompt != "" && fs.NArg() > 0:
		return fmt.Errorf("there is -p and the argument %q, want one prompt", fs.Arg(0))
	case c.lines && (c.prompt != "" || fs.NArg() > 0):
		return errors.New("-lines reads prompts from the standard input, and there is another prompt")
	case c.n < 1 || c.n > 1024:
		return fmt.Errorf("-n is %d, want 1 to 1024", c.n)
	case c.raw && c.system != "":
		return errors.New("-system is a part of the template, which -raw leaves out")
	}
	c.options.CacheType = cacheTypes[i].kind
	if fs.NArg() > 0 {
		c.prompt = strings.Join(fs.Args(), " ")
	}
	return nil
}

// path returns the path of the model.
func (c *config) path() (string, error) {
	if c.model != "" {
		return c.model, nil
	}
	return weights.Path(weights.SmolLM2)
}
