package grammar

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// TestScan: what is looked for is found wherever bytes lead to it, as package strings finds it.
func TestScan(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	has := func(text string, of ...string) (where int) {
		where = -1
		for _, s := range of {
			if at := strings.Index(text, s); at >= 0 && (where < 0 || at+len(s) < where) {
				where = at + len(s)
			}
		}
		return where
	}
	for _, texts := range [][]string{{"aab"}, {"abab", "ba"}, {"a"}, {"aaab", "ab\xc3"}} {
		list := `"` + strings.ReplaceAll(strings.Join(texts, `", "`), "\xc3", "b") + `"`
		texts = strings.Split(strings.Trim(strings.ReplaceAll(list, `", "`, ","), `"`), ",")
		until, without, unless := parse(t, `root ::= %until(`+list+`)`), parse(t, `root ::= %without(`+list+`) `), parse(t, `root ::= %unless(`+list+`)`)
		then := parse(t, `root ::= %without(`+list+`) "`+texts[0]+`"`)
		for range 4000 {
			var b strings.Builder
			for range random.IntN(10) {
				b.WriteString([]string{"a", "b", "a", "b", "c", "\xff"}[random.IntN(6)])
			}
			text := b.String()
			end := has(text, texts...)
			begins := false
			for _, s := range texts {
				begins = begins || strings.HasPrefix(text, s)
			}
			rest, ends := strings.CutSuffix(text, texts[0])
			for name, x := range map[string]struct{ got, want bool }{
				"until": {match(t, until, text), end == len(text)}, "without": {match(t, without, text), end < 0}, "unless": {match(t, unless, text), !begins},
				"then": {match(t, then, text), ends && has(rest, texts...) < 0},
			} {
				if x.got != x.want {
					t.Fatalf("%s %q of %q: %v", name, texts, text, x.got)
				}
			}
		}
	}
}

// TestWithin: schemas and grammars within a grammar, of which each has rules of its own.
func TestWithin(t *testing.T) {
	g := parse(t, `root ::= "<" a ">" | %json {"type": "integer", "minimum": 3} "!"
a ::= %json {"enum": ["x", "y}"]} | %gbnf "root ::= a root | \"\"\na ::= \"k\" | %json {\"const\": 1}"`)
	for text, want := range map[string]bool{`<"x">`: true, `<"y}">`: true, `<>`: true, `<kk1k>`: true, `3!`: true, `2!`: false, `<y>`: false, `<k"x">`: false, `"x"`: false} {
		if got := match(t, g, text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	again, err := g.Source().Grammar()
	if err != nil || !match(t, again, `<1>`) {
		t.Error(err)
	}
	inside := `root ::= "a"`
	for range mostInside + 1 {
		inside = `root ::= %gbnf "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(inside) + `"`
	}
	for _, bad := range []string{
		`root ::= %`, `root ::= %x`, `root ::= %json`, `root ::= %json {`, `root ::= %json {"type": 3}`, `root ::= %gbnf`, `root ::= %gbnf ""`, `root ::= %gbnf "a"`,
		`root ::= %gbnf "root ::= b" b ::= "a"`, `root ::= %until`, `root ::= %until()`, `root ::= %until("")`, `root ::= %until("a"`, `root ::= %until("a",)`,
		`root ::= %without("` + strings.Repeat("a", mostScanned+1) + `")`, inside,
	} {
		if _, err := Parse(bad); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%.60s: %v", bad, err)
		}
	}
	if _, err := Parse(`root ::= %json {"minimum": 4, "maximum": 3, "type": "integer"}`); err == nil {
		t.Error("a schema that no value satisfies is no error")
	}
}

// TestScanMask: a mask has the tokens that a walk byte by byte takes, also where bytes are a part
// of a character.
func TestScanMask(t *testing.T) {
	tokens := [][]byte{[]byte("a"), []byte("<"), []byte("<to"), []byte("ol>"), []byte("tool>"), []byte("\xf0\x9f"), []byte(">{"), []byte("x<tool>{"), []byte("<tool>1")}
	g := parse(t, `root ::= %without("<tool>") ("<tool>" %json {"type": "object"})?`)
	x, err := g.Matcher(NewVocabulary(tokens))
	if err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		words, err := x.Mask()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for id := range tokens {
			if words[0]>>id&1 == 1 {
				got += string(rune('0' + id))
			}
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	check("01234567")
	for _, id := range []int32{5, 2} {
		if err := x.Accept(id); err != nil {
			t.Fatal(err)
		}
	}
	check("01234567")
	if err := x.Accept(3); err != nil || x.MayEnd() {
		t.Error(err)
	}
	check("")
}
