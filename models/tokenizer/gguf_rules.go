package tokenizer

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/tokenizer/internal/pretokenize"
	"github.com/attn-go/attn/models/tokenizer/internal/regex"
)

// ggufRule is how byte-level BPE splits texts, of which a file has the name alone.
type ggufRule struct {
	exprs   []string // matches of each are pieces, and so is what is between them; one after another
	letters []string // and then of these, in the letters that stand for bytes
	whole   bool     // a piece that is a token is that token
	start   bool     // BOS before a text, unless the file says otherwise
	sep     bool     // SEP after it
	nfc     bool     // texts are normalized to NFC
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
	qwen35 = endings + `|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekken = `[^\r\n\p{L}\p{N}]?` + upper + `*` + lower + `+|[^\r\n\p{L}\p{N}]?` + upper + `+` + lower + `*|\p{N}` + slashes
	gpt4o  = `[^\r\n\p{L}\p{N}]?` + upper + `*` + lower + `+` + endings + `?|[^\r\n\p{L}\p{N}]?` + upper + `+` + lower + `*` + endings + `?|\p{N}{1,3}` + slashes
)

// asian are the characters of Chinese, Japanese and Korean that DeepSeek's first models have
// together, and more.
const asian = `[\x{4e00}-\x{9fa5}\x{800}-\x{4e00}\x{ac00}-\x{d7ff}]+`

// cased are the letters of scripts with capitals, as of Unicode 11, in DeepSeek's first language
// models.
const cased = `[A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77}\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe}\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124}\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149}\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3}\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f}\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df}\x{1e900}-\x{1e943}]+`

// ggufRules are the rules by the names that files have for them, as convert_hf_to_gguf.py of
// llama.cpp gives them.
var ggufRules = func() map[string]ggufRule {
	digits := []string{`\p{N}`, pretokenize.GPT2}
	all := map[string]ggufRule{
		"tekken":         {exprs: []string{tekken}, whole: true, start: true},
		"qwen35":         {exprs: []string{qwen35}, nfc: true},
		"deepseek-coder": {exprs: []string{`[\r\n]`, `\s?\p{L}+`, `\s?\p{P}+`, asian, `\p{N}`}},
		"deepseek-llm":   {exprs: []string{`[\r\n]`, `\s?` + cased, `\s?[!-/:-~\x{ff01}-\x{ff0f}\x{ff1a}-\x{ff5e}\x{2018}-\x{201f}\x{3000}-\x{3002}]+`, `\s+$`, asian, `\p{N}`}},
		"falcon":         {exprs: []string{"[\\p{P}$+<=>^~|`]+", pretokenize.GPT2}, letters: []string{`\p{N}+`, `[0-9]{3}`}},
		"default":        {exprs: []string{`[\p{P}$+<=>^~|]+`, pretokenize.GPT2, `\p{N}+`, `[0-9]{3}`}}, // what llama.cpp does for a name that means nothing
		"seed-coder":     {exprs: []string{endings + letters + `|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+`}},
		"deepseek-v3":    {exprs: []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
	}
	all["hunyuan-dense"] = all["deepseek-v3"]
	for rule, names := range map[*ggufRule][]string{
		{exprs: []string{pretokenize.GPT2}}:            {"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "modern-bert", "mpt", "olmo", "jais", "exaone4", "granite-docling", "trillion"},
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
	steps, err := isolating(r.exprs)
	letters, fail := isolating(r.letters)
	if letters != nil {
		steps = append(steps, pretokenize.Letters(pretokenize.Sequence(letters)))
	}
	return pretokenize.Sequence(steps), errors.Join(err, fail)
}

// isolating returns steps that make matches of expressions pieces.
func isolating(exprs []string) (steps []pretokenize.Step, err error) {
	for _, expr := range exprs {
		re, err := regex.Compile(expr)
		if err != nil {
			return nil, &kernel.Error{Where: "tokenizer: tokenizer.ggml.pre", Got: err.Error(), Want: "an expression that one pass over a text can match"}
		}
		steps = append(steps, pretokenize.Regex(re, pretokenize.Isolated, false))
	}
	return steps, nil
}
