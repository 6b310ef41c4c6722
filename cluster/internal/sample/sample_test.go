package sample

import (
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/gobytes"
)

// A text that is longer than the model's context, or shorter than what is asked for, goes on.
func TestRead(t *testing.T) {
	m, err := gobytes.Default()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("func f() {}\n", 50) // 600 bytes
	a, err := Read(m, text, 700)
	if err != nil {
		t.Fatal(err)
	}
	if a.Tokens != 700 || len(a.Q) != 700*Heads*HeadSize || len(a.K) != 700*KVHeads*HeadSize || len(a.V) != len(a.K) {
		t.Fatalf("%d tokens, %d, %d and %d numbers", a.Tokens, len(a.Q), len(a.K), len(a.V))
	}
	one := KVHeads * HeadSize
	for _, at := range []int{0, 60, 99} {
		if !slices.Equal(a.K[(600+at)*one:(601+at)*one], a.K[at*one:(at+1)*one]) {
			t.Errorf("token %d differs from token %d", 600+at, at)
		}
	}
	if slices.Equal(a.K[512*one:513*one], a.K[511*one:512*one]) || slices.Max(a.Q) < 0.5 {
		t.Error("the activations are not those of a model")
	}
	q := a.Queries(3, 5)
	k, _ := a.Keys(3, 5)
	if q.Shape() != [4]int{1, Heads, 2, HeadSize} || k.Shape() != [4]int{1, KVHeads, 2, HeadSize} {
		t.Error(q.Shape(), k.Shape())
	}
	if _, err := Read(m, "", 1); err == nil {
		t.Error("a text without tokens")
	}
}
