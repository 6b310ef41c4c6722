package passage

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// read returns the passages of a text.
func read(t *testing.T, text string, o Options) (all []Passage) {
	t.Helper()
	for p, err := range Read(strings.NewReader(text), o) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// show returns passages as short texts.
func show(all []Passage) (texts []string) {
	for _, p := range all {
		texts = append(texts, fmt.Sprintf("%d-%d %d %q|%q|%q", p.First, p.Last, p.Bytes, strings.Join(p.Before, ";"), p.Text, strings.Join(p.After, ";")))
	}
	return texts
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		text    string
		unit    Unit
		context int
		want    []string
	}{
		{"", Line, 0, nil},
		{"a\r\n\nb", Line, 0, []string{`1-1 3 ""|"a"|""`, `2-2 1 ""|""|""`, `3-3 1 ""|"b"|""`}},
		{"a\nb\nc\nd\n", Line, 2, []string{`1-1 2 ""|"a"|"b;c"`, `2-2 2 "a"|"b"|"c;d"`, `3-3 2 "a;b"|"c"|"d"`, `4-4 2 "b;c"|"d"|""`}},
		{"\n \na\nb\n\n\nc", Paragraph, 0, []string{`3-4 7 ""|"a\nb"|""`, `7-7 3 ""|"c"|""`}},
		{"\na\nb\n\n\nc\n", Paragraph, 1, []string{`2-3 5 ""|"a\nb"|""`, `6-6 4 ""|"c"|""`}},
		{"x\n\na\n\ny", Paragraph, 2, []string{`1-1 2 ""|"x"|";a"`, `3-3 3 "x;"|"a"|";y"`, `5-5 2 "a;"|"y"|""`}},
		{" \n\n", Paragraph, 3, nil},
	} {
		if got := show(read(t, c.text, Options{Unit: c.unit, Context: c.context})); !slices.Equal(got, c.want) {
			t.Errorf("%q as %vs with %d lines: %q, want %q", c.text, c.unit, c.context, got, c.want)
		}
	}
}

// Lines without context are given before another one is read.
func TestNoReadAhead(t *testing.T) {
	r, w := io.Pipe()
	go w.Write([]byte("a\n"))
	for p, err := range Read(r, Options{}) {
		if p.Text != "a" || err != nil {
			t.Errorf("%q, %v", p.Text, err)
		}
		break
	}
}

// count is a tokenizer that adds two tokens to the letters of a text, as BERT does to its own.
func count(text string) int { return 2 + len(strings.Join(strings.Fields(text), "")) }

func TestWindows(t *testing.T) {
	o := Options{Unit: Window, Tokens: 10, Count: count, Context: 1}
	for text, want := range map[string][]string{
		"":                         nil,
		" \n":                      nil,
		"ab cd ef gh":              {`1-1 11 ""|"ab cd ef gh"|""`},
		"ab cd\nef gh ij kl\nmn\n": {`1-2 11 ""|"ab cd\nef gh"|"mn"`, `2-3 9 "ab cd"|"gh ij kl\nmn"|""`},
		"abcdefghijklm no":         {`1-1 6 ""|"abcdef"|""`, `1-1 7 ""|"ghijklm"|""`, `1-1 3 ""|"no"|""`},
	} {
		if got := show(read(t, text, o)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	// Windows fit, cover every word, overlap, and bring something new.
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprint(&long, strings.Repeat("é", i%5), "w", i, " ", strings.Repeat("x", i%13*i%31), "\n"[:i%2])
	}
	text, end := long.String(), 0
	for _, w := range cut(text, &o) {
		p := text[w.begin:w.end]
		if n := count(p); n > 10 && len([]rune(p)) > 1 {
			t.Fatalf("%q has %d tokens", p, n)
		}
		if w.end <= end || strings.TrimSpace(text[min(end, w.begin):w.begin]) != "" {
			t.Fatalf("%q at %d does not follow what ends at %d", p, w.begin, end)
		}
		end = w.end
	}
	if strings.TrimSpace(text[end:]) != "" {
		t.Errorf("%q is in no window", text[end:])
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, o := range []Options{{}, {Context: 2}, {Unit: Paragraph}, {Unit: Window, Tokens: 3, Count: count}} {
		var last error
		for _, err := range Read(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), o) {
			last = err
		}
		if last != broken {
			t.Errorf("%+v: %v", o, last)
		}
	}
	for _, o := range []Options{{Unit: 3}, {Unit: -1}, {Context: -1}, {Unit: Window}, {Unit: Window, Tokens: 5}} {
		for _, err := range Read(strings.NewReader("a"), o) {
			if err == nil {
				t.Errorf("%+v: no error", o)
			}
		}
	}
	for u := Line; u <= Window; u++ {
		if got, err := ParseUnit(u.String()); got != u || err != nil {
			t.Errorf("%v: %v, %v", u, got, err)
		}
	}
	if _, err := ParseUnit("word"); err == nil || !strings.Contains(err.Error(), "paragraph") {
		t.Errorf("word: %v", err)
	}
}

func TestBinary(t *testing.T) {
	long := strings.Repeat("a", sniffed)
	for text, want := range map[string]bool{"": false, "a\n": false, "a\x00": true, long: false, long + "\x00": false, long[1:] + "\x00": true, "\x1b[31m": false} {
		r, got, err := Binary(strings.NewReader(text))
		all, err2 := io.ReadAll(r)
		if got != want || errors.Join(err, err2) != nil || string(all) != text {
			t.Errorf("%.10q of %d bytes: %t, want %t; %v", text, len(text), got, want, errors.Join(err, err2))
		}
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"a\tbé":          "a\tbé",
		"\x1b[31mred\a":  `\x1b[31mred\x07`,
		"a\xffb\r\n":     `a\xffb\x0d\x0a`,
		"\u009b1m\x7f":   `\x9b1m\x7f`,
		"a\u202eb\ufffd": `a\u202eb` + "\ufffd",
	} {
		if got := Escape(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
