package bpe

// llama3 returns the length of the first match of
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func llama3(text string) int { return modern(text, 3) }

// qwen2 returns the same with \p{N} in place of \p{N}{1,3}.
func qwen2(text string) int { return modern(text, 1) }

// modern returns the length of the first piece if numbers have up to some digits.
func modern(text string, digits int) int {
	if n := anyContraction(text); n > 0 {
		return n
	}
	k, n := first(text)
	switch {
	case k == letter:
		return run(text, letter)
	case k == number:
		return numbers(text, digits)
	case text[0] != '\r' && text[0] != '\n' && startsWith(text[n:], letter):
		return n + run(text[n:], letter)
	case k == other:
		return signs(text)
	case text[0] == ' ' && startsWith(text[1:], other):
		return 1 + signs(text[1:])
	}
	return lines(text)
}

func startsWith(text string, want kind) bool {
	if text == "" {
		return false
	}
	k, _ := first(text)
	return k == want
}

// numbers returns the length of the number characters that text begins with, but at most of some.
func numbers(text string, most int) int {
	n := 0
	for ; most > 0 && startsWith(text[n:], number); most-- {
		_, size := first(text[n:])
		n += size
	}
	return n
}

// signs returns the length of [^\s\p{L}\p{N}]+[\r\n]*, which text begins with.
func signs(text string) int {
	n := run(text, other)
	for n < len(text) && (text[n] == '\r' || text[n] == '\n') {
		n++
	}
	return n
}

// lines returns the length of the first match of \s*[\r\n]+|\s+(?!\S)|\s+ in a text that begins
// with white space.
func lines(text string) int {
	for n := run(text, space); n > 0; n-- {
		if c := text[n-1]; c == '\r' || c == '\n' {
			return n
		}
	}
	return spaces(text)
}

// anyContraction is contraction for upper and lower case. Long s, which has the upper case S, is
// an s as well.
func anyContraction(text string) int {
	const longS = "\u017f"
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	if len(text) > len(longS) && text[1:1+len(longS)] == longS {
		return 1 + len(longS)
	}
	lower := [3]byte{'\''}
	for i := 1; i < min(len(lower), len(text)); i++ {
		lower[i] = text[i]
		if 'A' <= text[i] && text[i] <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	return contraction(string(lower[:min(len(lower), len(text))]))
}
