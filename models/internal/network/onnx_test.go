package network

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/attn-go/attn/activation"
	"github.com/attn-go/attn/kernel"
)

// An onnxTensor has its numbers in little-endian.
type onnxTensor struct {
	Type  string
	Shape []int
	Data  []byte
}

func (x onnxTensor) floats() (y []float32) {
	for at := 0; at < len(x.Data); {
		if x.Type == "float16" {
			y, at = append(y, kernel.F16(binary.LittleEndian.Uint16(x.Data[at:])).Float32()), at+2
		} else {
			y, at = append(y, math.Float32frombits(binary.LittleEndian.Uint32(x.Data[at:]))), at+4
		}
	}
	return y
}

// transposed returns rows of the last two dimensions as columns: ONNX has [channels, tokens].
func (x onnxTensor) transposed(text int) []float32 {
	n, m := x.Shape[len(x.Shape)-2], x.Shape[len(x.Shape)-1]
	in, y := x.floats()[text*n*m:], make([]float32, n*m)
	for i := range y {
		y[i] = in[i%n*m+i/n]
	}
	return y
}

// TestONNX runs the node cases of ONNX's operator CausalConvWithState, all texts of a case in one
// pass: the past is a state, and SiLU is applied after it, as recurrent layers do. Numbers of 16
// bits are widened. testdata/onnx.json is written by recurrent/testdata/onnx.py of the root module.
func TestONNX(t *testing.T) {
	data, err := os.ReadFile("testdata/onnx.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name            string
		Attributes      struct{ Activation string }
		Inputs, Outputs map[string]onnxTensor
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 13 {
		t.Errorf("%d cases, want 13", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			in, w := c.Inputs["input"], c.Inputs["weight"]
			texts, channels, tokens := in.Shape[0], in.Shape[1], in.Shape[2]
			taps := Taps{N: w.Shape[2], Channels: channels, Bias: make([]float32, channels)}
			w.Shape = []int{channels, taps.N}
			taps.Weights = w.transposed(0)
			copy(taps.Bias, c.Inputs["bias"].floats())
			var p Pass
			p.Reset()
			carries, z := make([]Carry, texts), []float32{}
			for i := range carries {
				position := 0
				if past, ok := c.Inputs["past_state"]; ok {
					position = taps.N - 1
					carries[i].Before = &State{After: position, Taps: [][]float32{past.transposed(i)}}
				}
				carries[i].After = []*State{{After: position + tokens, Taps: [][]float32{make([]float32, taps.size())}}}
				p.Add(make([]int32, tokens), nil, position)
				z = append(z, in.transposed(i)...)
			}
			p.Cache = &Paged{Carries: carries}
			y := make([]float32, len(z))
			if err := taps.convolve(&p, 0, y, z, channels); err != nil {
				t.Fatal(err)
			}
			switch c.Attributes.Activation {
			case "silu", "swish":
				if err := activation.SiLU(y, y, p.Exec); err != nil {
					t.Fatal(err)
				}
			case "":
			default:
				t.Fatalf("unknown activation %s", c.Attributes.Activation)
			}
			for i, carry := range carries {
				near(t, "output", y[i*tokens*channels:], c.Outputs["output"], i)
				near(t, "present_state", carry.After[0].Taps[0], c.Outputs["present_state"], i)
			}
		})
	}
}

// near compares numbers of a text: float16 is rounded after each product and sum.
func near(t *testing.T, what string, got []float32, of onnxTensor, text int) {
	t.Helper()
	relative := 1e-5
	if of.Type == "float16" {
		relative = 0x1p-9
	}
	for i, w := range of.transposed(text) {
		if !(math.Abs(float64(got[i])-float64(w)) <= 1e-6+relative*math.Abs(float64(w))) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], w)
		}
	}
}
