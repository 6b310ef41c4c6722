package encoder

import (
	"testing"

	"github.com/attn-go/attn/kernel"
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
		l := e.net.layers[1]
		for _, x := range []kernel.DType{e.net.words.Type, l.qkv.DType(), l.out.DType(), l.up.DType(), l.down.DType()} {
			if x != want {
				t.Errorf("%s: weights are kept as %v", name, x)
			}
		}
		v, err := Inspect(dir, false)
		if err != nil || len(v.Problems) > 0 {
			t.Fatal(err, v.Problems)
		}
		memory[name] = v.Memory
	}
	if m := memory["F32"]; memory["F16"] >= m*2/3 || memory["BF16"] != memory["F16"] {
		t.Errorf("memory %v", memory)
	}
}
