package encoder

import (
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/internal/network"
	"github.com/attn-go/attn/models/internal/tensors"
)

// TestKeptTypes: weights of 16 bits take 2 bytes, and Inspect says so.
func TestKeptTypes(t *testing.T) {
	memory := map[string]int64{}
	for name, want := range map[string]kernel.DType{"F32": kernel.Float32, "F16": kernel.Float16, "BF16": kernel.BFloat16} {
		dir := t.TempDir()
		if err := newSmall("").Write(dir, name); err != nil {
			t.Fatal(err)
		}
		e, err := Load(dir, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l := e.net.network.Layers[1]
		a, f := l.Mix.(*network.Attention), l.Feed.(*network.Dense)
		kept := []kernel.DType{e.net.network.Embed.Words.(*tensors.Numbers).Type}
		for _, of := range []tensors.Linear{a.QKV, a.Out, f.Up, f.Down} {
			kept = append(kept, of.Parts[0].DType())
		}
		for _, x := range kept {
			if x != want {
				t.Errorf("%s: weights are kept as %v", name, x)
			}
		}
		v, err := inspect(dir, false)
		if err != nil || len(v.Problems) > 0 {
			t.Fatal(err, v.Problems)
		}
		memory[name] = v.Memory
	}
	if m := memory["F32"]; memory["F16"] >= m*2/3 || memory["BF16"] != memory["F16"] {
		t.Errorf("memory %v", memory)
	}
}
