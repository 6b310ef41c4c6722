package decoder

import (
	"errors"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/tinyllama"
	"github.com/attn-go/attn/models/precision"
)

// Weights are rounded when they are read: a model has one precision of both, and none without
// weights that are numbers.
func TestBFloat16Errors(t *testing.T) {
	m := tiny(t, Options{Precision: precision.BFloat16})
	if _, err := m.With(Options{Precision: precision.BFloat16, Context: 100}); err != nil {
		t.Error(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		var option *kernel.Error
		if !errors.As(err, &option) || option.Arg() != "Options.Precision" {
			t.Errorf("%s: got %v, want an error of Options.Precision", what, err)
		}
	}
	_, err := m.With(Options{})
	refused("float32 of rounded weights", err)
	_, err = tiny(t, Options{}).With(Options{Precision: precision.BFloat16})
	refused("bf16 of weights that are not rounded", err)
	_, err = loadTiny(tinyllama.New(func(string) gguf.Type { return gguf.Q8_0 }), Options{Precision: precision.BFloat16})
	refused("a model in blocks", err)
	_, err = m.With(Options{Precision: 9})
	refused("none of them", err)
}

// Logits in bfloat16 have the same bits on every tier and with any number of threads, token by
// token and together.
func TestBFloat16Bits(t *testing.T) {
	m := tiny(t, Options{Precision: precision.BFloat16, Exec: kernel.Exec{Threads: 1}})
	tokens := prompt(40, 3)
	s := session(t, m, 1, 40)
	want := hash(forward(t, s, Step{Text: s.NewText(), Tokens: tokens, Logits: LogitsAll})[0])
	for _, tier := range kernel.Tiers() {
		for threads := 1; threads <= 2; threads++ {
			with, err := m.With(Options{Precision: precision.BFloat16, Exec: kernel.Exec{Tier: tier, Threads: threads}})
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, with, 1, 40)
			text := s.NewText()
			var logits []float32
			for at := 0; at < len(tokens); {
				n := min(1+at, len(tokens)-at)
				logits = append(logits, forward(t, s, Step{Text: text, Tokens: tokens[at : at+n], Logits: LogitsAll})[0]...)
				at += n
			}
			if got := hash(logits); got != want {
				t.Errorf("%v, %d threads: other logits", tier, threads)
			}
		}
	}
}
