package receipt

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/decoder"
	"github.com/attn-go/attn/models/grammar"
)

// A file of receipts is read or refused. What was read is written in one form, and verifying it
// ends with what does not hold or why it cannot be verified, also if it names the right model.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"testdata/tiny.json", "testdata/texts.json"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	model, m := tiny(f, kernel.Exec{Threads: 1})
	for _, o := range []decoder.GenerateOptions{
		{MaxTokens: 6, Grammar: made(f, grammar.Source{Text: `root ::= [a-z ]{2,9}`})},
		{MaxTokens: 6, Grammar: made(f, grammar.Source{Text: `{"enum": ["yes", 3]}`, JSON: true})},
		{MaxTokens: 6, Sampler: sampler, StopText: []string{"a", "be"}},
	} {
		data, err := record(f, model, m, o).Bytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	const longest = 96 // tokens that are verified
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Read(bytes.NewReader(data))
		if err != nil {
			if !errors.As(err, new(*kernel.Error)) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, r := range all {
			once, err := r.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(once)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := again.Bytes()
			if err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("%v: written as %s, read and written again as %s", err, once, twice)
			}
			if r.Generation == nil || len(r.Prompt)+len(r.Tokens) > longest || r.Settings.Context > 4096 {
				continue
			}
			o, err := r.Settings.Options()
			if err != nil {
				t.Fatal(err)
			}
			other, err := m.With(o)
			if err != nil { // such as Int8, which the weights do not have
				continue
			}
			r.Model, r.Contract, r.Signature = model, kernel.Contract, nil
			for _, spot := range []int{0, 1} {
				err := Verify(t.Context(), model, other, r, Options{Spot: spot, Random: rand.New(rand.NewPCG(1, 2))})
				if err != nil && !errors.As(err, new(*kernel.Error)) {
					t.Fatalf("%T: %v", err, err)
				}
			}
		}
	})
}
