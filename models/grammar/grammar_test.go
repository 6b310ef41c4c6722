package grammar

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// parse is Parse without an error.
func parse(t testing.TB, text string) *Grammar {
	t.Helper()
	g, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return g
}

// match is Match without an error.
func match(t testing.TB, g *Grammar, text string) bool {
	t.Helper()
	ok, err := g.Match(text)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// What a grammar without recursion matches is what Go's regexp matches.
func TestMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	matches := 0
	for _, x := range []struct{ grammar, expression string }{
		{`root ::= "ab" | "a"`, `ab|a`},
		{`root ::= "a"* "b"+ "c"?`, `a*b+c?`},
		{`root ::= ("a" | "b"){2,4} "c"{2} "a"{1,}`, `(a|b){2,4}c{2}a+`},
		{`root ::= ("a"? "b"?)* "c"`, `(a?b?)*c`},
		{`root ::= (("a"*)* | "b"){0,3}`, `((a*)*|b){0,3}`},
		{"root ::= x y | y y # a comment\nx ::= \"a\" | \"\"\ny ::= [bc] x", `a?[bc]a?|[bc]a?[bc]a?`},
		{"root ::= (\"a\"\n | \"b\"\n) |\n \"c\"", `[abc]`},
		{`root ::= [^ab]* "a" .`, `[^ab]*a.`},
		{`root ::= [é-\u00ff]+ "a" [\x61-c-]`, `[é-ÿ]+a[a-c-]`},
		{`root ::= [^é]{1,3}`, `[^é]{1,3}`},
	} {
		g, e := parse(t, x.grammar), regexp.MustCompile(`\A(?s:`+x.expression+`)\z`)
		for range 3000 {
			text := ""
			for range random.IntN(8) {
				text += []string{"a", "b", "c", "é", "ø", "€", "😀", "-"}[random.IntN(8)]
			}
			want := e.MatchString(text)
			if got := match(t, g, text); got != want {
				t.Fatalf("%s: %q: %v, want %v", x.grammar, text, got, want)
			}
			if want {
				matches++
			}
		}
	}
	if matches < 1000 {
		t.Errorf("%d texts match", matches)
	}
}

// Rules within rules: what no regular expression matches.
func TestRecursion(t *testing.T) {
	g := parse(t, `root ::= "(" root ")" root | "[" root "]" root | ""`)
	random := rand.New(rand.NewPCG(5, 6))
	balanced := func(text string) bool {
		var open []byte
		for i := range len(text) {
			switch c := text[i]; {
			case c == '(' || c == '[':
				open = append(open, c)
			case len(open) == 0 || open[len(open)-1] != map[byte]byte{')': '(', ']': '['}[c]:
				return false
			default:
				open = open[:len(open)-1]
			}
		}
		return len(open) == 0
	}
	matches := 0
	for range 20000 {
		text := ""
		for range random.IntN(10) {
			text += string("()[]"[random.IntN(4)])
		}
		if got, want := match(t, g, text), balanced(text); got != want {
			t.Fatalf("%q: %v, want %v", text, got, want)
		} else if want {
			matches++
		}
	}
	deep := strings.Repeat("([", 2000) + strings.Repeat("])", 2000)
	if !match(t, g, deep) || match(t, g, deep+")") || matches < 500 {
		t.Errorf("4000 brackets: %v, %v; %d texts match", match(t, g, deep), match(t, g, deep+")"), matches)
	}
	// A palindrome can be read in many ways at once.
	g = parse(t, `root ::= "a" root "a" | "b" root "b" | [ab]?`)
	if text := strings.Repeat("ab", 300); !match(t, g, text+"a") || match(t, g, text) {
		t.Error("a palindrome is none, or the other way round")
	}
}

// tokens are all texts up to some length of some characters, in no order.
func tokens(alphabet string, length int) [][]byte {
	list, last := [][]byte{nil}, []string{""}
	for range length {
		var next []string
		for _, a := range last {
			for i := range len(alphabet) {
				next = append(next, a+alphabet[i:i+1])
				list = append(list, []byte(a+alphabet[i:i+1]))
			}
		}
		last = next
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return append(list, list[3], nil) // one twice
}

// A mask has the tokens after which some text is complete: those that a walk byte by byte takes.
func TestMask(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, text := range []string{
		`root ::= "(" root ")" root | "[" root "]" root | ""`,
		`root ::= "(" root "(" | "[" root "[" | [)\]]?`,
		"root ::= a b | b a\na ::= \"(\" a? \")\"\nb ::= \"(\" [\\[\\]] b? | \")\"",
		`root ::= "(" [^)]{0,5} ")"`,
	} {
		g := parse(t, text)
		list := tokens("()[]", 4)
		v := NewVocabulary(list)
		for range 20 {
			x, err := g.Matcher(v)
			if err != nil {
				t.Fatal(err)
			}
			m, written := newMachine(g.automata), ""
			for range 12 {
				words, err := x.Mask()
				if err != nil {
					t.Fatal(err)
				}
				var allowed []int32
				for id, token := range list {
					s := m.begin()
					for _, c := range written + string(token) {
						s = m.step(s, byte(c))
					}
					want := len(token) > 0 && s != m.dead
					if got := words[id/64]>>(id%64)&1 != 0; got != want {
						t.Fatalf("%s: %q after %q: %v, want %v", text, token, written, got, want)
					}
					if want {
						allowed = append(allowed, int32(id))
					} else if err := x.Accept(int32(id)); err == nil {
						t.Fatalf("%s: %q after %q is accepted", text, token, written)
					}
				}
				if x.MayEnd() != match(t, g, written) || x.MustEnd() != (len(allowed) == 0) || len(allowed) == 0 && !x.MayEnd() {
					t.Fatalf("%s: %q: may end %v, must end %v", text, written, x.MayEnd(), x.MustEnd())
				}
				if len(allowed) == 0 {
					break
				}
				id := allowed[random.IntN(len(allowed))]
				if err := x.Accept(id); err != nil {
					t.Fatal(err)
				}
				if written += string(list[id]); random.IntN(5) == 0 {
					g.walkers[v].kept = mostCache + 1 // begin anew
				}
			}
		}
	}
}

// Every error says what and where.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "no rule root",
		"a ::= \"b\"":                          "no rule root",
		"root ::= a":                           `line 1: "a", which no rule explains`,
		"root ::= \"a\"\nroot ::= \"b\"":       `line 2: rule "root" again`,
		"root = \"a\"":                         "::= after the name",
		"root ::= \"a":                         "the end of a string",
		"root ::= [a":                          "the end of a string or a class",
		"root ::= [b-a]":                       "a range that ascends",
		"root ::= (\"a\"":                      "the end, want )",
		"root ::= \"a\" )":                     "or the end of the line",
		"root ::= \"a\"{2,1}":                  "{n}, {n,} or {n,m}",
		"root ::= \"a\"{x}":                    "a number",
		"root ::= \"a\"{99999999999}":          "more than 131072 repetitions",
		"root ::= \"\\q\"":                     `one of \n`,
		"root ::= \"\\ud800\"":                 "the number of a character",
		"root ::= <[1]>":                       "or the end of the line",
		"root ::= root \"a\" | \"a\"":          `"root", which can begin with itself`,
		"root ::= a* root\na ::= \"a\"":        `"root", which no text satisfies`,
		"root ::= a* root | \"\"\na ::= \"a\"": `"root", which can begin with itself`,
		"root ::= \"a\" root":                  "which no text satisfies",
		"root ::= []":                          "which no text satisfies",
		"root ::= \xff":                        "bytes that are not UTF-8",
		"root ::= " + strings.Repeat("(", 300): "more than 200 groups",
		"root ::= [a-z]{131072} \"a\"":         "more than 131072 states",
		"root ::= \"a\"" + strings.Repeat("?", mostNesting+1): "more than 200 repetitions of one item",
	} {
		g, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50q: %v, %v, want %q", text, g, err, want)
		}
	}
}

// A defect of this package is a panic of its own, not a grammar that is nil.
func TestCompilePanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil {
			t.Error("an expression of no known kind compiles")
		}
	}()
	a, err := compile([]rule{{"root", struct{}{}}}, 0)
	t.Errorf("%v, %v", a, err)
}

// Grammars whose readings multiply take bounded time, or are an error.
func TestHostile(t *testing.T) {
	for _, text := range []string{
		`root ::= (("a"?){100}){100} "b"`,
		`root ::= ("a" | "a" | "a" "a")* "b"`,
		"root ::= x x x x x x x x | root2\nroot2 ::= \"a\" root2 \"a\" | \"a\" root2 | \"a\"\nx ::= \"a\"* x2\nx2 ::= (\"a\" x2 \"a\")?",
		`root ::= "a" root "a" root "a" | "a"`,
		`root ::= "a" root root root | "a"`,
		`root ::= ("a"?){50000} "b"`,
	} {
		g, err := Parse(text)
		if err != nil {
			t.Logf("%s: %v", text, err)
			continue
		}
		x, err := g.Matcher(NewVocabulary([][]byte{[]byte("a"), []byte("aaaaaaaa"), []byte("b")}))
		for i := 0; i < 100 && err == nil; i++ {
			if _, err = x.Mask(); err == nil {
				err = x.Accept(int32(i % 2))
			}
		}
		if err != nil {
			t.Logf("%s: %v", text, err)
		}
		if kept := slices.Max([]int{g.machine.kept, 0}); kept > 2*mostCache {
			t.Errorf("%s: keeps %d", text, kept)
		}
	}
}

// TestKeptOnce: masks that many sets share count once.
func TestKeptOnce(t *testing.T) {
	const words, depth = 1024, 200
	tokens := [][]byte{[]byte("("), []byte("b")}
	for len(tokens) < 64*words {
		tokens = append(tokens, fmt.Appendf(nil, "b%d", len(tokens)))
	}
	g, v := parse(t, `root ::= "(" "b" root ")" | "a"`), NewVocabulary(tokens)
	x, err := g.Matcher(v)
	for i := 0; i < depth && err == nil; i++ {
		if err = x.Accept(0); err == nil { // then b follows, at each depth
			_, err = x.Mask()
		}
		if err == nil {
			err = x.Accept(1)
		}
	}
	if kept := g.walkers[v].kept; err != nil || kept < words || kept > depth/4*words {
		t.Errorf("%d words and items are kept, %v: want those of a few masks of %d", kept, err, words)
	}
}
