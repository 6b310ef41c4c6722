package grammar

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// walk generates some tokens of a grammar and checks that what it gives can go on. It returns the
// text if it ended.
func walk(t *testing.T, g *Grammar, v *Vocabulary, seed uint64) (text []byte, ended bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	x, err := g.Matcher(v)
	if err != nil {
		return nil, false
	}
	for range 40 {
		if x.MustEnd() {
			return text, true
		}
		words, err := x.Mask()
		if err != nil {
			return text, false
		}
		var list []int32
		for id := range int32(v.Len()) {
			if words[id/64]>>(id%64)&1 != 0 {
				list = append(list, id)
			}
		}
		if len(list) == 0 {
			t.Fatalf("nothing may follow %q", text)
		}
		id := list[random.IntN(len(list))]
		if err := x.Accept(id); err != nil {
			return text, false
		}
		text = append(text, v.token(id)...)
	}
	return text, x.MayEnd()
}

// No text is a grammar whose texts cannot be completed, or one that takes long.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`root ::= "(" root ")" root | "[" root "]" root | ""`, `root ::= ("a"? "b"?)* [^é]{1,3} .`, "root ::= x*\nx ::= \"\\x41\" | [a-\\u00ff]{2,} # c\n",
		`root ::= (("a"?){100}){100} "b"`, `root ::= "a" root "a" root "a" | "a"`,
	} {
		f.Add(text, uint64(1))
	}
	v := jsonTokens()
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if g, err := Parse(text); err == nil {
			if text, ended := walk(t, g, v, seed); ended {
				if ok, err := g.Match(string(text)); !ok && err == nil {
					t.Errorf("%q is generated and does not match", text)
				}
			}
		}
	})
}

// Whatever a schema is, its texts are JSON.
func FuzzSchema(f *testing.F) {
	for _, x := range schemas {
		f.Add([]byte(x.Schema), uint64(1))
	}
	v := jsonTokens()
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		if g, err := FromSchema(schema); err == nil {
			if text, ended := walk(t, g, v, seed); ended && !json.Valid(text) {
				t.Errorf("%q is no JSON", text)
			}
		}
	})
}

// token returns the bytes of a token.
func (v *Vocabulary) token(id int32) []byte {
	var text []byte
	for at := v.at[id]; at > 0; at = v.nodes[at].parent {
		text = append([]byte{v.nodes[at].c}, text...)
	}
	return text
}
