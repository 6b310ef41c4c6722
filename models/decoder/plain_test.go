package decoder

import (
	"math"
	"testing"

	"github.com/attn-go/attn/models/gguf"
)

// A plain computes a model straight from its file, in float64, one token after the other and
// without a cache: the formulas, for comparison.
type plain struct {
	t       testing.TB
	f       *gguf.File
	c       Config
	factors []float64 // divide the frequencies
	read    map[string][]float32
}

// weight returns a tensor, or nil if the file does not have it.
func (p *plain) weight(name string) []float32 {
	if x, ok := p.read[name]; ok {
		return x
	}
	var x []float32
	if w, ok := p.f.Tensor(name); ok {
		var err error
		if x, err = w.Float32(); err != nil {
			p.t.Fatal(err)
		}
	}
	p.read[name] = x
	return x
}

// linear returns the layer called name, applied to x.
func (p *plain) linear(name string, x []float64) []float64 {
	w, bias := p.weight(name+".weight"), p.weight(name+".bias")
	out := make([]float64, len(w)/len(x))
	for i := range out {
		for j, v := range x {
			out[i] += v * float64(w[i*len(x)+j])
		}
		if bias != nil {
			out[i] += float64(bias[i])
		}
	}
	return out
}

func (p *plain) norm(name string, x []float64) []float64 {
	w, sum := p.weight(name), 0.0
	for _, v := range x {
		sum += v * v
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / math.Sqrt(sum/float64(len(x))+float64(p.c.Epsilon)) * float64(w[i])
	}
	return out
}

// rotate rotates neighbours in every head.
func (p *plain) rotate(x []float64, position int) {
	for head := 0; head < len(x); head += p.c.HeadSize {
		for i := range p.c.RopeDims / 2 {
			angle := float64(position) * math.Pow(p.c.RopeBase, -2*float64(i)/float64(p.c.RopeDims)) / p.factors[i]
			a, b := &x[head+2*i], &x[head+2*i+1]
			*a, *b = *a*math.Cos(angle)-*b*math.Sin(angle), *a*math.Sin(angle)+*b*math.Cos(angle)
		}
	}
}

// attend returns what the heads of a query see.
func (p *plain) attend(q []float64, keys, values [][]float64) []float64 {
	d, out := p.c.HeadSize, make([]float64, len(q))
	for h := range p.c.Heads {
		at, from := h*d, h/(p.c.Heads/p.c.KVHeads)*d
		weights, total := make([]float64, len(keys)), 0.0
		for j, k := range keys {
			for i := range d {
				weights[j] += q[at+i] * k[from+i] / math.Sqrt(float64(d))
			}
			weights[j] = math.Exp(weights[j])
			total += weights[j]
		}
		for j, v := range values {
			for i := range d {
				out[at+i] += weights[j] / total * v[from+i]
			}
		}
	}
	return out
}

// logits returns those after every token.
func (p *plain) logits(tokens []int32) (logits []float64) {
	keys, values := make([][][]float64, p.c.Layers), make([][][]float64, p.c.Layers)
	for position, id := range tokens {
		x := make([]float64, p.c.Width)
		for i := range x {
			x[i] = float64(p.weight(embeddingName)[int(id)*p.c.Width+i])
		}
		for l := range p.c.Layers {
			blk := func(name string) string { return "blk." + string(rune('0'+l)) + "." + name }
			h := p.norm(blk("attn_norm.weight"), x)
			q, k := p.linear(blk("attn_q"), h), p.linear(blk("attn_k"), h)
			p.rotate(q, position)
			p.rotate(k, position)
			keys[l], values[l] = append(keys[l], k), append(values[l], p.linear(blk("attn_v"), h))
			for i, v := range p.linear(blk("attn_output"), p.attend(q, keys[l], values[l])) {
				x[i] += v
			}
			h = p.norm(blk("ffn_norm.weight"), x)
			gate, up := p.linear(blk("ffn_gate"), h), p.linear(blk("ffn_up"), h)
			for i, z := range gate {
				gate[i] = z / (1 + math.Exp(-z)) * up[i]
			}
			for i, v := range p.linear(blk("ffn_down"), gate) {
				x[i] += v
			}
		}
		head := "output"
		if p.weight("output.weight") == nil {
			head = "token_embd"
		}
		logits = append(logits, p.linear(head, p.norm("output_norm.weight", x))...)
	}
	return logits
}
