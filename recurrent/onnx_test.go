package recurrent

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/attn-go/attn/kernel"
)

// An onnxCase is a node case of ONNX's operator LinearAttention, see testdata/onnx.py.
type onnxCase struct {
	Name            string
	Attributes      onnxAttributes
	Inputs, Outputs map[string]onnxTensor
}

type onnxAttributes struct {
	Heads   int     `json:"q_num_heads"`
	KVHeads int     `json:"kv_num_heads"`
	Rule    string  `json:"update_rule"`
	Scale   float64 `json:"scale"`
}

type onnxTensor struct {
	Type  string
	Shape []int
	Data  []byte // little-endian
}

// floats returns the numbers in float32.
func (x *onnxTensor) floats(t *testing.T) []float32 {
	switch x.Type {
	case "float32":
		y := make([]float32, len(x.Data)/4)
		for i := range y {
			y[i] = math.Float32frombits(binary.LittleEndian.Uint32(x.Data[4*i:]))
		}
		return y
	case "float16":
		y := make([]float32, len(x.Data)/2)
		for i := range y {
			y[i] = kernel.F16(binary.LittleEndian.Uint16(x.Data[2*i:])).Float32()
		}
		return y
	}
	t.Fatalf("numbers of type %s", x.Type)
	return nil
}

// TestONNX runs the cases on every tier. Query heads that share a state have a copy of it each,
// and a scale is a factor of queries. Numbers of 16 bits are widened.
func TestONNX(t *testing.T) {
	data, err := os.ReadFile("testdata/onnx.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []onnxCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	seen := map[Rule]bool{}
	for _, c := range cases {
		seen[c.rule(t)] = true
		for _, tier := range kernel.Tiers() {
			t.Run(c.Name+"/"+tier.String(), func(t *testing.T) { c.run(t, tier) })
		}
	}
	if len(cases) != 14 || len(seen) != 4 {
		t.Errorf("%d cases of %d rules, want 14 of 4", len(cases), len(seen))
	}
}

// rule is the rule of this package that updates states as the operator does.
func (c *onnxCase) rule(t *testing.T) Rule {
	k, decay := c.Inputs["key"].Shape, c.Inputs["decay"].Shape
	byElement := decay != nil && decay[2] == k[2]
	switch c.Attributes.Rule {
	case "", "gated_delta", "delta":
		if byElement {
			return KimiDelta
		}
		return GatedDelta
	case "gated", "linear":
		if byElement {
			return GatedLinear
		}
		return StateSpace
	}
	t.Fatalf("%s: unknown rule %s", c.Name, c.Attributes.Rule)
	return 0
}

// heads returns rows of a text with size numbers for each query head. An input may have fewer
// heads, and one left out is def.
func (c *onnxCase) heads(t *testing.T, name string, text, tokens, size int, def float32) []float32 {
	y := make([]float32, chunk*c.Attributes.Heads*size) // 0 after the text: such tokens change no state
	x, ok := c.Inputs[name]
	if !ok {
		for i := range tokens * c.Attributes.Heads * size {
			y[i] = def
		}
		return y
	}
	heads := x.Shape[2] / size
	in := x.floats(t)[text*tokens*x.Shape[2]:]
	for i := range tokens {
		for h := range c.Attributes.Heads {
			copy(y[(i*c.Attributes.Heads+h)*size:][:size], in[(i*heads+h*heads/c.Attributes.Heads)*size:])
		}
	}
	return y
}

func (c *onnxCase) run(t *testing.T, tier kernel.Tier) {
	a, q, v, state := c.Attributes, c.Inputs["query"], c.Inputs["value"], c.Outputs["present_state"]
	texts, tokens := q.Shape[0], q.Shape[1]
	l := Layer{Heads: a.Heads, KeyHeads: a.Heads, KeySize: q.Shape[2] / a.Heads, ValueSize: v.Shape[2] / a.KVHeads, Rule: c.rule(t)}
	output, present := c.Outputs["output"], state.floats(t)
	want := output.floats(t)
	for text := range texts {
		in := func(name string, size int) kernel.Tensor {
			x := c.heads(t, name, text, tokens, size, 0)
			if name == "query" {
				scale := a.Scale
				if scale == 0 {
					scale = 1 / math.Sqrt(float64(size))
				}
				for i := range x {
					x[i] *= float32(scale)
				}
			}
			return kernel.BLHD(x, 1, chunk, a.Heads, size)
		}
		x := Text{
			Q: in("query", l.KeySize), K: in("key", l.KeySize), V: in("value", l.ValueSize),
			Decay: c.heads(t, "decay", text, tokens, l.decays(), 0), Gate: c.heads(t, "beta", text, tokens, 1, 1),
		}
		if past, ok := c.Inputs["past_state"]; ok {
			x.Position = chunk
			x.Before = make([]float32, l.StateSize(chunk))
			l.eachRow(a.KVHeads, func(kv, row int) { copy(x.Before[row:][:l.ValueSize], past.floats(t)[text*len(present)/texts+kv:]) })
		}
		x.After = make([]float32, l.StateSize(x.Position+chunk))
		out := make([]float32, chunk*a.Heads*l.ValueSize)
		if err := l.Apply(kernel.BLHD(out, 1, chunk, a.Heads, l.ValueSize), x, kernel.Exec{Tier: tier}); err != nil {
			t.Fatal(err)
		}
		n := len(want) / texts
		output.near(t, "output", out[:n], want[text*n:])
		l.eachRow(a.KVHeads, func(kv, row int) {
			state.near(t, "present_state", x.After[row:][:l.ValueSize], present[text*len(present)/texts+kv:])
		})
	}
}

// eachRow calls do for each row of each state, with where it is in a tensor of ONNX, which has kv
// states, and here.
func (l *Layer) eachRow(kv int, do func(theirs, ours int)) {
	for h := range l.Heads {
		for x := range l.KeySize {
			do((h*kv/l.Heads*l.KeySize+x)*l.ValueSize, (h*l.KeySize+x)*l.columns())
		}
	}
}

// near compares numbers: float16 is rounded, and sums are of another order.
func (x *onnxTensor) near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	relative, absolute := 1e-5, 1e-6
	if x.Type == "float16" {
		relative, absolute = 0x1p-11+1e-5, 0x1p-25
	}
	for i, y := range got {
		if w := float64(want[i]); !(math.Abs(float64(y)-w) <= absolute+relative*math.Abs(w)) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, y, w)
		}
	}
}
