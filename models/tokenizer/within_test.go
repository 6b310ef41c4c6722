package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// counting is an appender that counts what it is given. It has the methods of the one below.
type counting struct {
	appender
	bytes *int
}

func (c counting) Append(ids []int32, piece string) []int32 {
	*c.bytes += len(piece)
	return c.appender.Append(ids, piece)
}

type countingAll struct {
	counting
	counter
	cutter
}

func (c countingAll) AppendPart(ids []int32, part string, first bool) []int32 {
	*c.bytes += len(part)
	return c.cutter.AppendPart(ids, part, first)
}

// counted returns a tokenizer that counts the bytes of which its model makes ids.
func counted(t *testing.T, tok *Tokenizer) (*Tokenizer, *int) {
	t.Helper()
	c, n := tok.config, new(int)
	c.model = func() appender {
		a := tok.config.model()
		if x, ok := a.(interface {
			counter
			cutter
		}); ok {
			return countingAll{counting{a, n}, x, x}
		}
		return counting{a, n}
	}
	with, err := newTokenizer(c)
	if err != nil {
		t.Fatal(err)
	}
	return with, n
}

// everyKind are tokenizers of all kinds, and whether a text of one piece can be refused by its
// bytes.
func everyKind(t *testing.T) map[string]*Tokenizer {
	all := map[string]*Tokenizer{}
	for _, name := range []string{"bert", "bert-cased", "charsmap", "deepseek", "gemma", "gpt2", "gpt4o", "llama2", "llama3", "mistral", "qwen2", "roberta", "smollm", "steps", "tekken", "unigram", "unigram-whole"} {
		all[name] = fromFile(t, name)
	}
	var spm map[string]struct {
		Tokens []string
		Scores []float32
		Types  []int32
	}
	read(t, "sentencepiece.json", &spm)
	for _, name := range []string{"llama", "t5"} {
		f, ok := spm[name]
		if !ok {
			t.Fatalf("sentencepiece.json has no %q", name)
		}
		var m metadata
		m.set("model", name)
		m.set("tokens", f.Tokens)
		m.set("scores", f.Scores)
		m.set("token_type", f.Types)
		m.set("unknown_token_id", uint32(0))
		m.set("bos_token_id", uint32(1))
		m.set("eos_token_id", uint32(2))
		all["gguf "+name] = fromMetadata(t, m)
	}
	return all
}

// hostile are long texts of one piece and of many, of what is known and of what is not, of what
// normalizers drop.
func hostile(t *testing.T) map[string]string {
	all, broken := testLines(t)
	r := rand.New(rand.NewPCG(3, 1))
	random := func(n int, from ...rune) string {
		var b strings.Builder
		for range n {
			b.WriteRune(from[r.IntN(len(from))])
		}
		return b.String()
	}
	return map[string]string{
		"lines":               strings.Join(all[:120], " "),
		"one piece":           strings.ReplaceAll(strings.Join(all[300:500], ""), " ", ""),
		"broken":              strings.Join(broken[:80], ""),
		"a":                   strings.Repeat("a", 9000),
		"ab":                  random(9000, 'a', 'b'),
		"letters":             random(9000, 'e', 't', 'h', 'n', 'i', 'g', 's'),
		"known and unknown":   random(9000, 'e', 't', 0x1f984, 0x4e00, 'é', '\u0301', 'n'),
		"unknown":             random(9000, 0x1f984, 0x10ffff-0x10, 0xe000, 0x13000),
		"white space":         random(9000, ' ', '\n', '\t', 0x3000),
		"what is dropped":     random(9000, 0, 1, 0xad, 0x200b, 0xfeff, '\u0301', 'x'),
		"spaces":              strings.Repeat(" ", 9000) + "x",
		"space signs":         random(9000, '\u2581', 'a', ' '),
		"digits and sentence": strings.Repeat("7", 9000) + strings.Repeat(" the cat sits on the mat", 500),
	}
}

// TestWithin: a limit gives the ids that all of the text begins with, and EncodeWithin all of them
// or none, whatever the text is.
func TestWithin(t *testing.T) {
	texts := hostile(t)
	for name, tok := range everyKind(t) {
		for what, text := range texts {
			whole := tok.Encode(text, Options{NoSpecial: true})
			around := len(tok.Encode("", Options{}))
			for _, limit := range []int{1, 700, len(whole) - 1, len(whole)} {
				if limit < 1 {
					continue
				}
				if got := tok.Encode(text, Options{NoSpecial: true, Limit: limit}); !slices.Equal(got, whole[:min(limit, len(whole))]) {
					t.Errorf("%s, %s: with limit %d the ids are others", name, what, limit)
				}
				fits := limit >= len(whole)
				if got, ok := tok.EncodeWithin(text, Options{NoSpecial: true, Limit: limit}); ok != fits || fits && !slices.Equal(got, whole) || !fits && got != nil {
					t.Errorf("%s, %s: within %d: %d ids, %v, want %d, %v", name, what, limit, len(got), ok, len(whole), fits)
				}
				if got, ok := tok.EncodeWithin(text, Options{Limit: limit + around}); ok != fits || fits && len(got) != len(whole)+around {
					t.Errorf("%s, %s: within %d and those around it: %d ids, %v", name, what, limit, len(got), ok)
				}
				if limit != 700 {
					continue
				}
				parts := []Part{{Text: text[:len(text)/2]}, {Text: "<none>", Special: true}, {Text: text[len(text)/2:]}}
				all := tok.EncodeParts(parts, Options{NoSpecial: true})
				if got := tok.EncodeParts(parts, Options{NoSpecial: true, Limit: limit}); !slices.Equal(got, all[:min(limit, len(all))]) {
					t.Errorf("%s, %s: with limit %d the ids of parts are others", name, what, limit)
				}
				for _, limit := range []int{limit, len(all)} {
					if got, ok := tok.EncodePartsWithin(parts, Options{NoSpecial: true, Limit: limit}); ok != (limit >= len(all)) || ok && !slices.Equal(got, all) {
						t.Errorf("%s, %s: parts within %d: %d ids, %v, want %d", name, what, limit, len(got), ok, len(all))
					}
				}
			}
			if got, ok := tok.EncodeWithin(text, Options{}); !ok || len(got) != len(whole)+around {
				t.Errorf("%s, %s: without a limit: %d ids, %v", name, what, len(got), ok)
			}
		}
	}
}

// TestWork: the work for a text that is too long depends on the limit, not on the text. What a
// model is given is counted.
func TestWork(t *testing.T) {
	const limit = 100
	texts := map[string]string{"sentence": strings.Repeat("the cat sits on the mat ", 5000), "one word": strings.Repeat("a", 19000), "words": strings.Repeat("thecatsitsonthemat", 6000)}
	// Words of these are one token if they are long.
	unbounded := []string{"steps", "bert", "bert-cased"}
	for name, tok := range everyKind(t) {
		longest := 0
		for _, text := range tok.tokens {
			longest = max(longest, len(text))
		}
		for what, text := range texts {
			tok, work := counted(t, tok)
			if _, ok := tok.EncodeWithin(text, Options{Limit: limit}); ok && what == "sentence" {
				t.Errorf("%s: %d bytes fit into %d ids", name, len(text), limit)
			}
			refused := *work
			*work = 0
			tok.Encode(text, Options{Limit: limit})
			cut := *work
			// A model gets what makes limit ids, and the piece or the chunk with the last of them.
			if most := longest*(limit+2) + 2*chunk; what == "sentence" && max(refused, cut) > most || refused > most && !slices.Contains(unbounded, name) {
				t.Errorf("%s, %s: of %d bytes the model got %d to refuse them and %d to cut them, want at most %d", name, what, len(text), refused, cut, most)
			}
		}
	}
}

// TestLargeMemoryIsNotKept: an encoder that has had a long piece is not used again.
func TestLargeMemoryIsNotKept(t *testing.T) {
	tok := fromFile(t, "smollm")
	for text, large := range map[string]bool{strings.Repeat("a", mostKept): false, strings.Repeat("a", mostKept+1): true} {
		r := tok.run(1<<30, len(text))
		r.text(text, true)
		if r.large != large {
			t.Errorf("after a piece of %d bytes: large is %v", len(text), r.large)
		}
	}
}
