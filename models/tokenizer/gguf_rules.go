package tokenizer

import (
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
	"github.com/attn-go/attn/models/tokenizer/internal/regex"
)

// ggufRule is how byte-level BPE splits texts, of which a file has the name alone.
type ggufRule struct {
	exprs []string // matches of each are pieces, and so is what is between them; one after another
	whole bool     // a piece that is a token is that token
	start bool     // BOS before a text, unless the file says otherwise
	sep   bool     // SEP after it
	nfc   bool     // texts are normalized to NFC
}

// Parts of the expressions. The models' own tokenizer.json files have them.
const (
	endings = `(?i:'s|'t|'re|'ve|'m|'ll|'d)`
	signs   = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	slashes = `| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	letters = `|[^\r\n\p{L}\p{N}]?\p{L}+`
	upper   = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	lower   = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`

	llama3 = endings + letters + `|\p{N}{1,3}` + signs
	qwen2  = endings + letters + `|\p{N}` + signs
	tekken = `[^\r\n\p{L}\p{N}]?` + upper + `*` + lower + `+|[^\r\n\p{L}\p{N}]?` + upper + `+` + lower + `*|\p{N}` + slashes
	gpt4o  = `[^\r\n\p{L}\p{N}]?` + upper + `*` + lower + `+` + endings + `?|[^\r\n\p{L}\p{N}]?` + upper + `+` + lower + `*` + endings + `?|\p{N}{1,3}` + slashes
)

// ggufRules are the rules by the names that files have for them, as convert_hf_to_gguf.py of
// llama.cpp gives them.
var ggufRules = func() map[string]ggufRule {
	digits := []string{`\p{N}`, pretokenize.GPT2}
	all := map[string]ggufRule{
		"tekken":      {exprs: []string{tekken}, whole: true, start: true},
		"deepseek-v3": {exprs: []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
	}
	for rule, names := range map[*ggufRule][]string{
		{exprs: []string{pretokenize.GPT2}}:            {"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "modern-bert", "mpt", "olmo", "jais", "exaone4"},
		{exprs: []string{pretokenize.GPT2}, sep: true}: {"roberta-bpe", "jina-v1-en", "jina-v2-code"},
		{exprs: digits}: {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
		{exprs: []string{llama3}, whole: true, start: true}: {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "lfm2"},
		{exprs: []string{llama3}}:                           {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"},
		{exprs: []string{qwen2}, nfc: true}:                 {"qwen2", "deepseek-r1-qwen"},
		{exprs: []string{qwen2}}:                            {"stablelm2", "megrez", "hunyuan", "grok-2"},
		{exprs: []string{gpt4o}}:                            {"gpt-4o", "llama4"},
	} {
		for _, name := range names {
			all[name] = *rule
		}
	}
	return all
}()

func ruleNames() string { return strings.Join(slices.Sorted(maps.Keys(ggufRules)), ", ") }

func (r ggufRule) step() (pretokenize.Step, error) {
	var steps []pretokenize.Step
	for _, expr := range r.exprs {
		re, err := regex.Compile(expr)
		if err != nil {
			return nil, &ConfigError{"tokenizer.ggml.pre", err.Error(), "an expression that one pass over a text can match"}
		}
		steps = append(steps, pretokenize.Regex(re, pretokenize.Isolated, false))
	}
	return pretokenize.Sequence(steps), nil
}
