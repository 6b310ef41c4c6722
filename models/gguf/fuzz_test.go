package gguf

import (
	"os"
	"testing"
)

// FuzzNew parses files and uses what they contain.
func FuzzNew(f *testing.F) {
	tiny, err := os.ReadFile("testdata/tiny.gguf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tiny)
	f.Add(write(sample()))
	f.Add(write(content{version: 2, alignment: 32}))
	f.Add(write(content{version: 3, alignment: 8, entries: []entry{{"general.alignment", uint32(8)}},
		tensors: []described{{"q4_k", []uint64{256}, Q4_K, 0}, {"q6_k", []uint64{256}, Q6_K, 144}}, data: 360}))
	f.Add(write(content{version: 3, alignment: 8, entries: []entry{{"general.alignment", uint32(8)}},
		tensors: []described{{"q2_k", []uint64{256}, Q2_K, 0}, {"q3_k", []uint64{256}, Q3_K, 88}, {"q5_1", []uint64{32}, Q5_1, 200}}, data: 224}))
	f.Fuzz(use)
}
