package server

import (
	"testing"

	"github.com/attn-go/attn/models/lora"
)

// TestAdapterFingerprint: the adapters of a model are in its fingerprint and its receipts.
func TestAdapterFingerprint(t *testing.T) {
	s := fixed()
	if err := s.complete(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llama-2", "bert-1"} {
		prints := map[string]bool{}
		for _, list := range [][]lora.Adapter{nil, {{Path: "../testdata/tiny/lora/" + name}}, {{Path: "../testdata/tiny/lora/" + name, Scale: 2}}} {
			m, err := Load("../testdata/tiny/"+name, LoadOptions{LoRA: list})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.named(); len(got.Adapters) != len(list) {
				t.Errorf("%s: receipts have %d adapters, want %d", name, len(got.Adapters), len(list))
			}
			prints[m.fingerprint(&s)] = true
		}
		if len(prints) != 3 {
			t.Errorf("%s: %d fingerprints, want 3", name, len(prints))
		}
	}
}
