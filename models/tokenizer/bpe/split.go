package bpe

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter splits a text into the pieces within which pairs are merged. Each takes time in
// proportion to the text's length.
type splitter func(text string, yield func(piece string))

var splitters = map[string]splitter{
	"gpt-2":     func(text string, yield func(string)) { splitBy(text, gpt2, yield) },
	"smollm":    splitSmolLM,
	"llama-bpe": func(text string, yield func(string)) { splitBy(text, llama3, yield) },
	"qwen2":     func(text string, yield func(string)) { splitBy(text, qwen2, yield) },
}

func splitterNames() []string { return slices.Sorted(maps.Keys(splitters)) }

// splitBy splits with a function that returns the length of a text's first piece.
func splitBy(text string, first func(string) int, yield func(string)) {
	for text != "" {
		n := first(text)
		yield(text[:n])
		text = text[n:]
	}
}

// splitSmolLM makes every number character a piece. What is between them is split as by GPT-2, as
// if it were a text of its own.
func splitSmolLM(text string, yield func(string)) {
	for text != "" {
		n := strings.IndexFunc(text, unicode.IsNumber)
		if n < 0 {
			n = len(text)
		}
		splitBy(text[:n], gpt2, yield)
		if text = text[n:]; text != "" {
			_, digit := utf8.DecodeRuneInString(text)
			yield(text[:digit])
			text = text[digit:]
		}
	}
}

// gpt2 returns the length of the first match of
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func gpt2(text string) int {
	if n := contraction(text); n > 0 {
		return n
	}
	rest := text
	if text[0] == ' ' && len(text) > 1 {
		rest = text[1:]
	}
	if k, _ := first(rest); k != space {
		return len(text) - len(rest) + run(rest, k)
	}
	return spaces(text)
}

// spaces returns the length of the first match of \s+(?!\S)|\s+: white space before a word leaves
// its last character to the word.
func spaces(text string) int {
	n := run(text, space)
	if _, last := utf8.DecodeLastRuneInString(text[:n]); n < len(text) && last < n {
		return n - last
	}
	return n
}

// contraction returns the length of the ending such as 's that text begins with, or 0.
func contraction(text string) int {
	if text[0] == '\'' && len(text) > 1 {
		switch text[1] {
		case 's', 't', 'm', 'd':
			return 2
		case 'r', 'v', 'l':
			if len(text) > 2 && (text[1:3] == "re" || text[1:3] == "ve" || text[1:3] == "ll") {
				return 3
			}
		}
	}
	return 0
}

// kind is what the rules tell apart.
type kind uint8

const (
	other kind = iota
	space
	letter
	number
)

// first returns the kind and the length of the first character. A byte that is not UTF-8 is of
// kind other.
func first(text string) (kind, int) {
	if c := text[0]; c < utf8.RuneSelf {
		return asciiKinds[c], 1
	}
	r, n := utf8.DecodeRuneInString(text)
	return kindOf(r), n
}

// run returns the length of the characters of a kind that text begins with.
func run(text string, k kind) int {
	for i := 0; i < len(text); {
		got, n := first(text[i:])
		if got != k {
			return i
		}
		i += n
	}
	return len(text)
}

var asciiKinds = func() (kinds [utf8.RuneSelf]kind) {
	for c := range kinds {
		kinds[c] = kindOf(rune(c))
	}
	return kinds
}()

func kindOf(r rune) kind {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}
