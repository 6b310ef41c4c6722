// Package bytemodel puts the weights of gobytes, the byte model of attn, into a
// model of Born.
package bytemodel

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gobytes"
	"github.com/attn-go/attn/models/safetensors"
	"github.com/born-ml/born/models/llama"
	"github.com/born-ml/born/nn"
	"github.com/born-ml/born/tensor"
)

// config returns the configuration of the model as Born has it.
func config(c *gobytes.Config) llama.Config {
	return llama.Config{
		VocabSize: c.Vocab, HiddenSize: c.Width, NumLayers: c.Layers, NumHeads: c.Heads, NumKVHeads: c.KVHeads,
		HeadDim: c.HeadSize, FFNSize: c.FFN, MaxSeqLen: c.Context, RopeTheta: c.Theta, NormEpsilon: c.Epsilon,
	}
}

// Load reads the model from a safetensors file. Both pair the columns i and i+D/2 of a head
// for rotary positions, so the weights are copied as they are.
func Load[B tensor.Backend](path string, backend B, opts ...llama.Option[B]) (*llama.Model[B], error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var c gobytes.Config
	if err := json.Unmarshal([]byte(f.Metadata("config")), &c); err != nil {
		return nil, fmt.Errorf("%s: metadata: config: %w", path, err)
	}
	m := llama.NewModel(config(&c), backend, opts...)
	if err := fill(m, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// fill copies the weights.
func fill[B tensor.Backend](m *llama.Model[B], f *safetensors.File) error {
	params := map[string]*nn.Parameter[B]{
		"norm.weight":  m.Norm.Gamma,
		"embed.weight": m.Embed.Weight,
	}
	for i, l := range m.Layers {
		for name, p := range map[string]*nn.Parameter[B]{
			"attn_norm": l.AttnNorm.Gamma, "ffn_norm": l.FFNNorm.Gamma,
			"wq": l.QProj.Weight(), "wk": l.KProj.Weight(), "wv": l.VProj.Weight(), "wo": l.OProj.Weight(),
			"w1": l.FFN.GateProj().Weight(), "w3": l.FFN.UpProj().Weight(), "w2": l.FFN.DownProj().Weight(),
		} {
			params[fmt.Sprintf("blocks.%d.%s.weight", i, name)] = p
		}
	}
	for name, p := range params {
		if err := copyHalves(p.Tensor(), f, name); err != nil {
			return err
		}
	}
	copy(m.Head.Weight().Tensor().Data(), m.Embed.Weight.Tensor().Data()) // the model shares them
	return nil
}

// copyHalves copies a tensor of type f16.
func copyHalves[B tensor.Backend](dst *tensor.Tensor[float32, B], f *safetensors.File, name string) error {
	info, ok := f.Info(name)
	if !ok || !slices.Equal(info.Shape, []int(dst.Shape())) {
		return fmt.Errorf("tensor %q has shape %d, want %d", name, info.Shape, []int(dst.Shape()))
	}
	bits, err := f.Uint16(name)
	if err != nil {
		return err
	}
	for i, b := range bits {
		dst.Data()[i] = kernel.F16(b).Float32()
	}
	return nil
}
