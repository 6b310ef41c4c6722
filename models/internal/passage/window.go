package passage

import (
	"io"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word is a part of a text that a window takes as a whole.
type word struct{ begin, end, tokens int }

// windows yields the windows of a whole file.
func (f *lines) windows(o *Options, yield func(Passage, error) bool) error {
	data, err := io.ReadAll(f.r)
	if err != nil {
		return err
	}
	text := strings.ToValidUTF8(string(data), "")
	all := split(text)
	starts := lineStarts(text)
	lineOf := func(at int) int { return sort.SearchInts(starts, at+1) }
	done := 0
	for _, w := range cut(text, o) {
		p := Passage{Text: text[w.begin:w.end], First: lineOf(w.begin), Last: lineOf(w.end - 1)}
		p.Before = around(all, p.First-o.Context, p.First-1)
		p.After = around(all, p.Last+1, p.Last+o.Context)
		p.Bytes, done = max(0, w.end-done), max(done, w.end)
		if !yield(p, nil) {
			return nil
		}
	}
	return nil
}

// cut returns the windows of a text as parts of it. Blank text has none.
func cut(text string, o *Options) (windows []word) {
	empty := o.Count("")
	words := wordsOf(text, o, empty)
	for from := 0; from < len(words); {
		to, tokens := from+1, words[from].tokens
		for to < len(words) && empty+tokens+words[to].tokens <= o.Tokens {
			tokens += words[to].tokens
			to++
		}
		// Words side by side may have more tokens than alone, if a tokenizer knows other spaces.
		for to > from+1 && o.Count(text[words[from].begin:words[to-1].end]) > o.Tokens {
			to--
			tokens -= words[to].tokens
		}
		windows = append(windows, word{words[from].begin, words[to-1].end, tokens})
		if to == len(words) {
			break
		}
		next := to
		for shared := 0; next-1 > from && shared+words[next-1].tokens <= tokens/4; next-- {
			shared += words[next-1].tokens
		}
		for next < to && o.Count(text[words[next].begin:words[to].end]) > o.Tokens {
			next++ // a window without a word of its own would be of no use
		}
		from = next
	}
	return windows
}

// wordsOf returns the words of a text, each of at most o.Tokens, or of a single character.
func wordsOf(text string, o *Options, empty int) (words []word) {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			at += n
			continue
		}
		end := at + len(text[at:])
		if i := strings.IndexFunc(text[at:], unicode.IsSpace); i >= 0 {
			end = at + i
		}
		for at < end {
			part := prefix(text[at:end], o)
			words = append(words, word{at, at + len(part), o.Count(part) - empty})
			at += len(part)
		}
	}
	return words
}

// prefix returns a beginning of a word that has at most o.Tokens, and at least a character.
func prefix(s string, o *Options) string {
	// Longer words are cut in any case, so that a character is counted a few times at most.
	if o.Tokens < len(s)/64 {
		s = upTo(s, 64*o.Tokens)
	}
	for o.Count(s) > o.Tokens {
		half := upTo(s, len(s)/2)
		if len(half) == len(s) {
			break
		}
		s = half
	}
	return s
}

// upTo returns a beginning of s of at most n bytes, but at least a character.
func upTo(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if n == 0 {
		_, n = utf8.DecodeRuneInString(s)
	}
	return s[:n]
}

// split returns the lines of a text without their ends.
func split(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimRight(line, "\r\n"))
	}
	return all
}

// lineStarts returns where the lines of a text begin.
func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// around returns the lines from a to b, counted from 1, as far as they exist.
func around(all []string, a, b int) []string {
	a, b = max(a, 1), min(b, len(all))
	if a > b {
		return nil
	}
	return all[a-1 : b : b]
}
