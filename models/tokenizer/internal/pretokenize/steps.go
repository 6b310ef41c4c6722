package pretokenize

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/attn-go/attn/models/tokenizer/internal/alphabet"
	"github.com/attn-go/attn/models/tokenizer/internal/regex"
)

// Regex splits at the matches of an expression, or, if invert is set, at what is between them.
func Regex(re *regex.Regex, b Behavior, invert bool) Step {
	if b != Isolated {
		return splitBy(re.Split, b, invert)
	}
	return func(text string, start bool, yield Yield) bool { // without a closure for every text
		for text != "" {
			part, _ := re.Next(text)
			if !yield(part, start) {
				return false
			}
			text, start = text[len(part):], false
		}
		return true
	}
}

// Text splits at the occurrences of a text, which is not empty.
func Text(at string, b Behavior, invert bool) Step {
	return splitBy(func(text string, yield func(string, bool) bool) bool {
		for {
			i := strings.Index(text, at)
			if i < 0 {
				return text == "" || yield(text, false)
			}
			if i > 0 && !yield(text[:i], false) || !yield(at, true) {
				return false
			}
			text = text[i+len(at):]
		}
	}, b, invert)
}

// chars finds single characters.
func chars(is func(r rune) bool) finder {
	return func(text string, yield func(string, bool) bool) bool {
		begin := 0
		for i := 0; i < len(text); {
			r, n := utf8.DecodeRuneInString(text[i:])
			if is(r) {
				if begin < i && !yield(text[begin:i], false) || !yield(text[i:i+n], true) {
					return false
				}
				begin = i + n
			}
			i += n
		}
		return begin == len(text) || yield(text[begin:], false)
	}
}

// Digits makes every number a piece, or each of its characters.
func Digits(single bool) Step {
	if single {
		return splitBy(chars(unicode.IsNumber), Isolated, false)
	}
	return splitBy(chars(unicode.IsNumber), Contiguous, false)
}

// Punctuation splits at punctuation signs.
func Punctuation(b Behavior) Step { return splitBy(chars(isSign), b, false) }

// Char splits at a character and drops it.
func Char(c rune) Step {
	return splitBy(chars(func(r rune) bool { return r == c }), Removed, false)
}

// WhitespaceSplit splits at white space and drops it.
func WhitespaceSplit() Step { return splitBy(chars(unicode.IsSpace), Removed, false) }

// words has two joiners as parts of words, which \w has in Rust and not in Oniguruma.
var words = sync.OnceValue(func() *regex.Regex { return must(`[\w\x{200c}\x{200d}]+|[^\w\s\x{200c}\x{200d}]+`) })

// Whitespace splits into words and runs of other signs.
func Whitespace() Step { return Regex(words(), Removed, true) }

// gpt2 is the expression of GPT-2.
var gpt2 = sync.OnceValue(func() *regex.Regex { return must(GPT2) })

// GPT2 is the expression of GPT-2.
const GPT2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// ByteLevel splits as GPT-2 does, if split is set, and puts a space before a text without one, if
// prefix is set. That its pieces are bytes is up to the vocabulary.
func ByteLevel(prefix, split bool) Step {
	step := Sequence(nil)
	if split {
		step = Regex(gpt2(), Isolated, false)
	}
	if !prefix {
		return step
	}
	return func(text string, start bool, yield Yield) bool {
		if !strings.HasPrefix(text, " ") {
			text = " " + text
		}
		return step(text, start, yield)
	}
}

// Letters applies a step, which only splits, to the letters that stand for the bytes of a text in
// the vocabulary. So do the pre-tokenizers that stand after ByteLevel. Those for 0xb2, 0xb3, 0xb9
// and 0xbc to 0xbe are numbers, wherever such a byte stands in a character.
func Letters(step Step) Step {
	return func(text string, start bool, yield Yield) bool {
		return step(alphabet.Letters(text), start, func(piece string, start bool) bool {
			bytes, _ := alphabet.Bytes(piece)
			return yield(bytes, start)
		})
	}
}

func must(expr string) *regex.Regex {
	re, err := regex.Compile(expr)
	if err != nil {
		panic(err) // an expression of this package
	}
	return re
}

// Metaspace replaces spaces by another character, which it also puts before a text that does not
// begin with it: always, before the first text alone, or never. If split is set, pieces begin with
// that character.
func Metaspace(space string, scheme Scheme, split bool) Step {
	at := Sequence(nil)
	if split {
		at = Text(space, MergedWithNext, false)
	}
	return func(text string, start bool, yield Yield) bool {
		text = strings.ReplaceAll(text, " ", space)
		if (scheme == Always || scheme == First && start) && !strings.HasPrefix(text, space) {
			text = space + text
		}
		return at(text, start, yield)
	}
}

// Scheme says where Metaspace puts its character.
type Scheme string

// All schemes.
const (
	Always Scheme = "always"
	First  Scheme = "first"
	Never  Scheme = "never"
)

// isSign returns whether a character is punctuation, or in ASCII whatever is neither letter nor
// digit, such as $.
func isSign(r rune) bool {
	if r < utf8.RuneSelf {
		return 33 <= r && r <= 47 || 58 <= r && r <= 64 || 91 <= r && r <= 96 || 123 <= r && r <= 126
	}
	return unicode.Is(unicode.P, r)
}

// Bert splits at white space, which it drops, and at punctuation signs.
func Bert() Step {
	return func(text string, start bool, yield Yield) bool {
		begin := 0
		for i := 0; i < len(text); {
			r, n := rune(text[i]), 1
			if r >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(text[i:])
			} else if 'a' <= r && r <= 'z' {
				i++
				continue
			}
			white := unicode.IsSpace(r)
			if !white && !isSign(r) {
				i += n
				continue
			}
			if begin < i && !yield(text[begin:i], start && begin == 0) {
				return false
			}
			if !white && !yield(text[i:i+n], start && i == 0) {
				return false
			}
			i += n
			begin = i
		}
		return begin == len(text) || yield(text[begin:], start && begin == 0)
	}
}
