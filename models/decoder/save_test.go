package decoder

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
)

// TestSave: a text whose first tokens are loaded in pieces goes on with the bits of one that has
// read them, and what is saved of it again has the same bytes.
func TestSave(t *testing.T) {
	for _, o := range []Options{{}, {CacheType: kernel.Float16}, {CacheType: kernel.Int8, CacheValueType: kernel.Int4}} {
		t.Run(fmt.Sprint(o.CacheType), func(t *testing.T) { checkSave(t, tiny(t, o)) })
	}
	for _, name := range append([]string{"deepseek_v3-31", "gemma3-6"}, recurrentFolders...) {
		t.Run(name, func(t *testing.T) { checkSave(t, loadRecurrent(t, name, Options{})) })
	}
}

func checkSave(t *testing.T, m *Model) {
	const tokens, piece = 200, 48
	ids := prompt(tokens, 3)
	for i := range ids {
		ids[i] %= int32(m.config.Vocab)
	}
	first := session(t, m, 2, 0)
	text := first.NewText()
	want := slices.Clone(forward(t, first, Step{Text: text, Tokens: ids, Logits: LogitsAll})[0])

	o := m.options
	o.PageSize = 20
	other, err := m.With(o)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.StateFingerprint("x"), other.StateFingerprint("x"); a != b {
		t.Errorf("fingerprints %s and %s of models that differ in their pages", a, b)
	}
	second := session(t, other, 2, 0)
	for _, have := range []int{piece, 2 * piece, 4 * piece} {
		copied := second.NewText()
		for at := 0; at < have; at += piece {
			data, err := text.Save(nil, at, at+piece)
			if err == nil {
				err = copied.Load(ids[at:at+piece], data)
			}
			if err != nil {
				t.Fatal(err)
			}
			if again, err := copied.Save(nil, at, at+piece); err != nil || !bytes.Equal(data, again) {
				t.Errorf("%d tokens: saved again, they have other bytes, or %v", at, err)
			}
		}
		if !slices.Equal(copied.Tokens(), ids[:have]) {
			t.Fatal("other tokens")
		}
		got := forward(t, second, Step{Text: copied, Tokens: ids[have:], Logits: LogitsAll})[0]
		sameBits(t, fmt.Sprint(have), got, want[have*m.config.Vocab:])
		copied.Free()
	}
}

// TestSavedErrors: what does not fit leaves the text as it was.
func TestSavedErrors(t *testing.T) {
	for _, m := range []*Model{tiny(t, Options{Context: 200}), loadRecurrent(t, "lfm2-1", Options{Context: 200})} {
		s := session(t, m, 1, 128)
		text := s.NewText()
		ids := make([]int32, 100)
		forward(t, s, Step{Text: text, Tokens: ids})
		data, err := text.Save(nil, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		var bad *kernel.Error
		var full *kvcache.CapacityError
		for _, x := range [][2]int{{-1, 3}, {5, 4}, {0, 101}} {
			if _, err := text.Save(nil, x[0], x[1]); !errors.As(err, &bad) {
				t.Errorf("Save of %v: %v", x, err)
			}
		}
		if err := text.Load(ids[:64], data); !errors.As(err, &full) {
			t.Errorf("no page is free: %v", err)
		}
		if err := text.Truncate(0); err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			tokens []int32
			data   []byte
		}{{ids[:63], data}, {ids[:64], data[1:]}, {ids[:64], append(data[:len(data):len(data)], 0)}, {ids[:64], nil}, {[]int32{-1}, nil}, {make([]int32, 201), data}} {
			if err := text.Load(x.tokens, x.data); !errors.As(err, &bad) || text.Len() != 0 || text.kv.Len() != 0 || len(text.states) != 0 {
				t.Errorf("Load of %d tokens and %d bytes: %v, leaves %d tokens", len(x.tokens), len(x.data), err, text.Len())
			}
		}
		if err := text.Load(ids[:64], data); err != nil {
			t.Error(err)
		}
		text.Free()
		if _, err := text.Save(nil, 0, 0); !errors.As(err, &bad) {
			t.Errorf("Save of a text that is freed: %v", err)
		}
		if err := text.Load(nil, nil); !errors.As(err, &bad) {
			t.Errorf("Load into a text that is freed: %v", err)
		}
	}
}

// TestStateFingerprints: what changes keys and values changes the fingerprint.
func TestStateFingerprints(t *testing.T) {
	seen := map[string]bool{}
	m := tiny(t, Options{})
	for _, o := range []Options{{}, {Context: 300}, {CacheType: kernel.Int8}, {CacheType: kernel.Int8, CacheValueType: kernel.Int4}, {CacheType: kernel.Int8, CacheValueType: kernel.Int4, Unrotated: true}, {CacheType: kernel.Int8, DynamicInt12: true}} {
		other, err := m.With(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, digest := range []string{"a", "b"} {
			if f := other.StateFingerprint(digest); seen[f] {
				t.Errorf("%+v of %s: the fingerprint of another one", o, digest)
			} else {
				seen[f] = true
			}
		}
	}
}
