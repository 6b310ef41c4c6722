package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/receipt"
)

// answers is the version of what the bytes of answers depend on beside the contract, the model and the
// settings: how texts become tokens, how tokens are chosen and how answers are written. Raise it with
// every change of them.
const answers = 1

// digestOf returns a SHA-256 of the files of a model.
func digestOf(files []receipt.File) string {
	h := sha256.New()
	for _, f := range files {
		if len(files) == 1 {
			f.Name = "" // a model of one file may have another name
		}
		fmt.Fprintf(h, "%s %v\n", f.Name, f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fingerprint returns the hash of all that the answers of a model depend on.
func (m *Model) fingerprint(s *Settings) string {
	h := sha256.New()
	fmt.Fprintf(h, "answers %d\ncontract %d\nmodel %s\n", answers, kernel.Contract, m.digest)
	if m.generate != nil {
		o := m.generate.Options()
		attention := ""
		if o.Quantized {
			attention = "attention integers\n"
		}
		fmt.Fprintf(h, "context %d\ncache %v %v\nint8 %v\n%smax %d\nsampler %+v\n", o.Context, o.CacheType, cmp.Or(o.CacheValueType, o.CacheType), o.Int8, attention, s.MaxTokens, *s.Sampler)
	}
	return "fp_" + hex.EncodeToString(h.Sum(nil)[:8])
}
