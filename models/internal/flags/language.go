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
	fs.IntVar(l.Context, "ctx", 0, "most `tokens` of a text; changes answers (default 4096, or fewer if the model was trained for fewer)")
	cache := func(name, usage string, to *kernel.DType, names []string) {
		Choice(fs, name, usage, names, func(word string) { *to = cacheTypes[word] })
	}
	cache("cache", "`type` of cached keys and values: f32, f16, bf16, int8 or int4. Smaller types take less memory and cost\naccuracy; changes answers (default f32)", l.CacheType, cacheNames)
	cache("cache-values", "`type` of cached values alone: f16, bf16, int8 or int4. int4 values cost less accuracy than int4 keys;\nchanges answers (default: as -cache)", l.CacheValueType, cacheNames[1:])
	fs.BoolVar(l.Unrotated, "unrotated", false, "do not rotate int4 keys and values before rounding; rotation keeps more accuracy; changes answers")
	Choice(fs, "attention", "`what` attention computes with: f32 or integers. Integers need a -cache of int8 or int4. They make tokens after\nlong texts faster, most of all with int8; changes answers (default f32)",
		[]string{"f32", "integers"}, func(word string) { *l.Integers = word == "integers" })
	Precision(fs, l.Precision, "answers")
}

// Precision defines -precision. what changes with it.
func Precision(fs *flag.FlagSet, p *precision.Precision, what string) {
	Choice(fs, "precision", "`what` linear layers compute with: float32, bf16 or int8. bf16 rounds weights and inputs to bfloat16, and is faster on\nCPUs with AMX. int8 rounds them to 8 bits: it is the fastest elsewhere, costs more accuracy, and takes language models\nonly with weights of at most 8 bits. Each gives the same bits on every CPU; changes "+what+" (default float32)",
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
	fs.Float64Var(&s.Temperature, "temp", 0.2, "temperature: at 1, tokens are drawn by the model's probabilities; below 1, probable tokens more often;\nat 0, always the most probable one"+unless)
	fs.IntVar(&s.TopK, "top-k", 40, "draw from this many most probable tokens; 0 means all"+unless)
	command.Float(fs, &s.TopP, "top-p", 0.9, decoder.LeastTopP, "draw from the most probable tokens with this `share` of the probability; 0 means the most probable one, 1 means all"+unless)
	fs.Float64Var(&s.MinP, "min-p", 0, "draw from tokens whose probability is at least this times the largest; 0 means all"+unless)
	fs.Uint64Var(&s.Seed, "seed", 1, "seed of the random draws; the same seed gives the same text on every CPU"+unless)
	fs.Var(date, "date", fmt.Sprintf("`day` that templates write as today's date: YYYY-MM-DD, or today, the day on which the command starts (default 2024-07-26)%s", unless))
}
