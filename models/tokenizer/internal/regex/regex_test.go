package regex

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

func mustCompile(t testing.TB, expr string) *Regex {
	t.Helper()
	re, err := Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	return re
}

// Where Go's package regexp knows the syntax, both find the same.
func TestGo(t *testing.T) {
	exprs := []string{"a", "a|ab", "ab|a", "a*", "a*?b", "(a|b)*c?", "a{2,3}", "a{2,}?b", "[^a-c]+", "(?i:ab)+", `\p{L}+|\p{N}{1,3}|\s+`, "(a*)*b", `[a-c]{0,2}(b|c)`, `x(ab|a)(c|bcd)`, ".+?b", `(?:a+b?)+?c`, `[\p{Lu}\p{Lt}]*[\p{Ll}]+`}
	texts := []string{"", "a", "ab", "abc", "aab", "aaab", "cab", "bbbabac", "ABab", "xabcd", "xabcbcd", "Héllo 123456 wörld", "é\n b", "aaaaabc"}
	for _, expr := range exprs {
		re, want := mustCompile(t, expr), regexp.MustCompile("^(?:"+expr+")")
		for _, text := range texts {
			n := -1
			if at := want.FindStringIndex(text); at != nil {
				n = at[1]
			}
			if got := re.Match(text); got != n {
				t.Errorf("%s: %q: got length %d, want %d", expr, text, got, n)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		expr, text string
		want       []string // matches in brackets
	}{
		{`\s+(?!\S)|\s+`, "a   b  ", []string{"a", "[  ]", "[ ]", "b", "[  ]"}},
		{`(?=\d)`, "ab12", []string{"ab", "1", "2"}},
		{`\s+$`, "a  \nb ", []string{"a", "[  ]", "\nb", "[ ]"}},
		{`[^\s\p{L}]++[\r\n]*`, "a,,\n\n!b", []string{"a", "[,,\n\n]", "[!]", "b"}},
		{`[^\r\n\p{L}]?+\p{L}+`, " ab,c,,d", []string{"[ ab]", "[,c]", ",", "[,d]"}},
		{`(?i:'s|'ll)`, "It'S'LL'\u017f", []string{"It", "['S]", "['LL]", "['\u017f]"}},
		{`[a-z&&[^b]]`, "abc", []string{"[a]", "b", "[c]"}},
		{`a{,3}`, "baaaaa{,3}", []string{"b", "[aaa]", "[aa]", "{", ",", "3", "}"}}, // as tokenizers 0.23 has them
		{`ba{,2}`, "baaa", []string{"[baa]", "a"}},
		{`a{,}`, "aa{,}", []string{"a", "[a{,}]"}},
		{`a{+1,3}`, "aa{+1,3}a{{1,3}", []string{"aa{+1,3}", "[a{{1,3}]"}},
		{`\w+`, "m²½ №5①", []string{"[m²½]", " №", "[5]", "①"}}, // as tokenizers 0.23 has them
		{`[\w]+|\W`, "m²½ №5①", []string{"[m]", "²½", "[ ]", "[№]", "[5]", "[①]"}},
		{`\p{So}`, "a\xff\xfeb", []string{"a", "[\xff]", "[\xfe]", "b"}},
	} {
		var got []string
		mustCompile(t, c.expr).Split(c.text, func(part string, match bool) bool {
			if match {
				part = "[" + part + "]"
			}
			got = append(got, part)
			return true
		})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q: got %q, want %q", c.expr, c.text, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for expr, what := range map[string]string{
		"(a": "parenthesis", "a)": "parenthesis", "[a": "bracket", "a{1,2000}": "repetition", "*": "repetition", "^a": "^", `\b`: `\b`, `(?<=a)b`: "(?<",
		`(?=ab)c`: "ahead", `\p{Foo}`: "Foo", "(ab)++": "possessive", "a++a": "possessive", `(a)\1`: `\1`, "\xff": "UTF-8", "((((a{100}){100}){100}){100})": "too many", strings.Repeat("(", 200): "100 groups", "[b-a]": "range", "[[:alpha:]]": "[:",
	} {
		_, err := Compile(expr)
		if !errors.As(err, new(*kernel.Error)) || !strings.Contains(err.Error(), what) {
			t.Errorf("%.20q: got error %v, want one about %q", expr, err, what)
		}
	}
}

// An expression that never completes a match is given up, so that a text takes no quadratic time.
func TestGivenUp(t *testing.T) {
	re := mustCompile(t, "a+b")
	if n := re.Match(strings.Repeat("a", MaxAhead-2) + "b"); n != MaxAhead-1 {
		t.Errorf("got length %d, want %d", n, MaxAhead-1)
	}
	if n := re.Match(strings.Repeat("a", 2*MaxAhead) + "b"); n != -1 {
		t.Errorf("got length %d, want -1", n)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\s+(?!\S)|a{2,5}?`, "it's a  test")
	f.Fuzz(func(t *testing.T, expr, text string) {
		re, err := Compile(expr)
		if err != nil {
			if !errors.As(err, new(*kernel.Error)) {
				t.Fatalf("%T", err)
			}
			return
		}
		var all string
		re.Split(text, func(part string, match bool) bool {
			if part == "" {
				t.Fatal("an empty part")
			}
			all += part
			return true
		})
		if all != text {
			t.Fatalf("the parts of %q are %q", text, all)
		}
	})
}
