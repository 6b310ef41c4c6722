package flags

import (
	"errors"
	"flag"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
	"github.com/attn-go/attn/models/command"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/precision"
)

// Language are the settings of a language model that flags set.
type Language struct {
	Context                   *int
	CacheType, CacheValueType *kernel.DType
	Unrotated, Integers       *bool // Integers is DynamicInt12 of decoder.Options
	Precision                 *precision.Precision
}

// cacheTypes are the values of -cache, and cacheNames their order.
var (
	cacheTypes = map[string]kernel.DType{"f32": kernel.Float32, "f16": kernel.Float16, "bf16": kernel.BFloat16, "int8": kernel.Int8, "int4": kernel.Int4}
	cacheNames = []string{"f32", "f16", "bf16", "int8", "int4"}
)

// Flags defines the flags that set l. All of them change texts, though not from one CPU to another.
func (l Language) Flags(fs *flag.FlagSet) {
	fs.IntVar(l.Context, "ctx", 0, "most `tokens` of a text; changes answers (default what the model was trained for, at most 4096)")
	cache := func(name, usage string, to *kernel.DType, names []string) {
		Choice(fs, name, usage, names, func(word string) { *to = cacheTypes[word] })
	}
	cache("cache", "`type` of the keys and values that are kept: f32, f16, bf16, int8 or int4, which takes the least memory and costs the most\naccuracy; changes answers (default f32)", l.CacheType, cacheNames)
	cache("cache-values", "`type` of the values alone, of which int4 costs less than of keys: f16, bf16, int8 or int4; changes answers (default that of -cache)", l.CacheValueType, cacheNames[1:])
	fs.BoolVar(l.Unrotated, "unrotated", false, "keep keys and values of int4 as they are: they are rotated before they are rounded, which loses less; changes answers")
	Choice(fs, "attention", "`what` attention computes with: f32, or integers, with which tokens after long texts take less time, the least with a -cache of\nint8; needs one of int8 or int4, and changes answers (default f32)",
		[]string{"f32", "integers"}, func(word string) { *l.Integers = word == "integers" })
	Precision(fs, l.Precision, "answers")
}

// Precision defines -precision. what changes with it.
func Precision(fs *flag.FlagSet, p *precision.Precision, what string) {
	Choice(fs, "precision", "`what` linear layers compute with: float32; bf16, which rounds weights and inputs to bfloat16 and takes less time on CPUs with\nunits for it (AMX); or int8, which rounds them to 8 bits, takes the least time elsewhere and costs more accuracy, and of\nlanguage models needs weights of 8 or fewer bits. Each has the same bits on every CPU; changes "+what+" (default float32)",
		precision.Names, func(word string) { *p, _ = precision.Parse(word) })
}

// Check reports settings that do not fit each other, as a [command.UsageError].
func (l Language) Check() error {
	o := decoder.Options{CacheType: *l.CacheType, CacheValueType: *l.CacheValueType, DynamicInt12: *l.Integers}
	if o.DynamicInt12 && errors.Is(o.Check(), kernel.ErrArgument) {
		return command.Usage(errors.New("-attention integers needs a -cache of int8 or int4"))
	}
	return nil
}

// Sampler defines the flags of how tokens are drawn, and of the date of templates. unless follows
// what they say: when they do not count.
func Sampler(fs *flag.FlagSet, s *decoder.Sampler, date *chattemplate.Date, unless string) {
	fs.Float64Var(&s.Temperature, "temp", 0.2, "temperature: 1 draws tokens by the model's probabilities, less prefers probable ones,\n0 always takes the most probable one"+unless)
	fs.IntVar(&s.TopK, "top-k", 40, "draw from this many most probable tokens; 0 means all"+unless)
	command.Float(fs, &s.TopP, "top-p", 0.9, decoder.LeastTopP, "draw from the most probable tokens with this `share` of the probability; 0 means the most probable one, 1 means all"+unless)
	fs.Float64Var(&s.MinP, "min-p", 0, "draw from the tokens that are at least this many times as probable as the most probable one; 0 means all"+unless)
	fs.Uint64Var(&s.Seed, "seed", 1, "seed of the random draws; the same seed gives the same text on every CPU"+unless)
	fs.Var(date, "date", fmt.Sprintf("`day` that a template which writes the date takes for today: YYYY-MM-DD, or today for the day on which the command starts (default 2024-07-26)%s", unless))
}
