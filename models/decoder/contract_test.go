package decoder

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/attn-go/attn/kernel"
)

var updateVectors = flag.Bool("update", false, "write the contract's vectors of sampling anew")

// samplingVectors is the file of the contract's vectors that another implementation checks itself
// against. Package contract, whose README describes its form, cannot import this module.
const samplingVectors = "../../contract/vectors/sampling.json"

// A samplingCase is a Sampler that chooses tokens after a text, from these rows of logits.
type samplingCase struct {
	name    string
	sampler Sampler
	text    []int32
	logits  [][]float32
}

// samplingCases has each setting alone and with others, logits that are equal, -Inf and 0 of both
// signs, and the limits at which the order of the tokens is another one.
func samplingCases() (list []samplingCase) {
	r := &chooser{random: newChooser(Sampler{Seed: 99}).random}
	rows := func(count, n int, spread float64) (x [][]float32) {
		for range count {
			row := make([]float32, n)
			for j := range row {
				row[j] = float32((float64(r.random.Uint64()>>11)*0x1p-53 - 0.5) * spread)
			}
			x = append(x, row)
		}
		return x
	}
	few, equal, many := rows(8, 12, 6), rows(6, 12, 6), rows(1, 300, 1)
	negative := float32(math.Copysign(0, -1))
	for _, row := range equal {
		copy(row[2:], []float32{2, 0, 2, negative, 2, 0, float32(math.Inf(-1))})
	}
	for _, row := range many { // exponentials that are equal, of logits that are not
		for j := 40; j < 300; j += 2 {
			row[j] = row[j-1] + 1e-7
		}
	}
	add := func(name string, s Sampler, logits [][]float32, text ...int32) {
		s.Seed += uint64(len(list))
		list = append(list, samplingCase{name, s, text, logits})
	}
	add("most-probable", Sampler{}, equal)
	add("most-probable-penalty", Sampler{RepetitionPenalty: 1.7, FrequencyPenalty: 0.3, PresencePenalty: -0.2}, few, 3, 3, 1, 0, 3)
	add("plain", Sampler{Temperature: 1}, few)
	add("plain-equal", Sampler{Temperature: 0.7, Seed: 1 << 63}, equal)
	add("temperature", Sampler{Temperature: 0.3}, few)
	add("cold", Sampler{Temperature: 0.001}, equal)
	add("penalties", Sampler{Temperature: 1.3, RepetitionPenalty: 1.1, FrequencyPenalty: 0.1, PresencePenalty: 0.7}, few, 0, 1, 1, 2, 5, 5, 5)
	add("penalty-window", Sampler{Temperature: 1, RepetitionPenalty: 0.3, FrequencyPenalty: -0.7, PenaltyWindow: 3}, few, 0, 1, 1, 2)
	add("top-k", Sampler{Temperature: 2, TopK: 3}, equal)
	add("top-k-above", Sampler{Temperature: 2, TopK: 300}, equal)
	add("top-p", Sampler{Temperature: 1, TopP: 0.7}, few)
	add("top-p-equal", Sampler{Temperature: 1, TopP: 0.25}, equal)
	add("top-p-of-top-k", Sampler{Temperature: 2, TopK: 7, TopP: 0.8}, few)
	add("min-p", Sampler{Temperature: 3, MinP: 0.1}, few)
	add("min-p-1", Sampler{Temperature: 3, MinP: 1}, equal)
	add("all", Sampler{Temperature: 1.5, TopK: 9, TopP: 0.9, MinP: 0.02, RepetitionPenalty: 1.2, PresencePenalty: 0.1, Seed: 0x123456789abcdef0}, few, 4)
	add("top-p-1", Sampler{Temperature: 1, TopP: 1}, few[:2])
	add("top-p-exactly", Sampler{Temperature: 1, TopP: 0.5}, [][]float32{{3, 3, 3, 3}})
	add("top-p-many", Sampler{Temperature: 5, TopP: 0.9}, many)
	add("top-k-256", Sampler{Temperature: 1000, TopK: 256}, many)
	add("top-k-257", Sampler{Temperature: 1000, TopK: 257}, many)
	add("top-k-270-top-p", Sampler{Temperature: 1000, TopK: 270, TopP: 0.5}, many)
	return list
}

// TestContractVectors: the sampler chooses the tokens of the committed file. With -update it writes
// them.
func TestContractVectors(t *testing.T) {
	want := bytes.NewBufferString(fmt.Sprintf("{\"contract\": %d, \"subject\": \"sampling\", \"vectors\": [\n", kernel.Contract))
	for i, c := range samplingCases() {
		tokens := c.text
		var left []int32
		var p []float32
		chooser := newChooser(c.sampler)
		for _, row := range c.logits {
			id, err := chooser.next(row, tokens)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			tokens = append(tokens[:len(tokens):len(tokens)], id)
			p = append(p, chooser.p...)
			for j := range chooser.p {
				if len(chooser.ids) > 0 {
					j = chooser.ids[j]
				}
				left = append(left, int32(j))
			}
		}
		line, err := json.Marshal(c.vector(tokens[len(c.text):], left, p))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			want.WriteString(",\n")
		}
		want.Write(line)
	}
	want.WriteString("\n]}\n")
	if *updateVectors {
		if err := os.WriteFile(samplingVectors, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(samplingVectors); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is not what the sampler chooses (error: %v); -args -update writes it, if the contract has changed", samplingVectors, err)
	}
}

// vector returns a case with the tokens that it chooses, those that were left and their p, as the
// file has it: settings that are 0 are not there.
func (c *samplingCase) vector(tokens, left []int32, p []float32) map[string]any {
	in := map[string]any{"text": append([]int32{}, c.text...), "seed": array("u64", []uint64{c.sampler.Seed}, func(x uint64) uint64 { return x })}
	for name, x := range map[string]float64{
		"temperature": c.sampler.Temperature, "top_p": c.sampler.TopP, "min_p": c.sampler.MinP, "repetition_penalty": c.sampler.RepetitionPenalty,
		"frequency_penalty": c.sampler.FrequencyPenalty, "presence_penalty": c.sampler.PresencePenalty,
	} {
		if x != 0 {
			in[name] = array("f64", []float64{x}, math.Float64bits)
		}
	}
	for name, x := range map[string]int{"top_k": c.sampler.TopK, "penalty_window": c.sampler.PenaltyWindow} {
		if x != 0 {
			in[name] = x
		}
	}
	word := func(id int32) uint32 { return uint32(id) }
	in["logits"] = array("f32", slices.Concat(c.logits...), math.Float32bits, len(c.logits), len(c.logits[0]))
	out := map[string]any{"tokens": array("i32", tokens, word, len(tokens))}
	if p != nil {
		out["left"], out["p"] = array("i32", left, word, len(left)), array("f32", p, math.Float32bits, len(p))
	}
	return map[string]any{"name": c.name, "function": "sample", "in": in, "out": out}
}

// array returns numbers as the file has them: a type, a shape and their bits.
func array[E any, B uint32 | uint64](typ string, x []E, word func(x E) B, shape ...int) map[string]any {
	bits := ""
	for _, x := range x {
		w := word(x)
		bits += fmt.Sprintf("%0*x", 2*binary.Size(w), w)
	}
	return map[string]any{"type": typ, "shape": append([]int{}, shape...), "bits": bits}
}
