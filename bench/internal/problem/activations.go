package problem

import (
	"bytes"
	"fmt"

	"github.com/attn-go/attn/models/gobytes"
	"github.com/attn-go/attn/models/safetensors"
)

// activations are gobytes.Activations, with what the files themselves do not say.
var activations = []struct {
	file, prefix, name string // of the file, of the names of the tensors in it, and of the problem
	causal             bool
	sha256             string // of the result by the contract
}{
	{"gobytes", "layer1.", "layer1", true, "189ae3e7b88e7b3825d4287874aa44bea4e30a86cb2d8b1b13398c5913419257"},
	{"gobytes", "layer3.", "layer3", true, "e14c44d69cc6d543b5b3e687759c688e5b5f693bd031ee1311d67f04a0e19866"},
	{"minilm", "", "minilm", false, "b0d1c0054262fcea7ee4dc1441fac6f04b4941a681e7f9db185433c73dc0ce3d"},
}

// Activations returns the activations of trained models that come with the command.
func Activations() (all []*Problem, err error) {
	for _, a := range activations {
		data, err := gobytes.Activations.ReadFile("testdata/activations/" + a.file + ".safetensors")
		if err != nil {
			return nil, err
		}
		f, err := safetensors.New(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.file, err)
		}
		p := &Problem{Name: a.name, Causal: a.causal, SHA256: a.sha256}
		for name, to := range map[string]*Array{"q": &p.Q, "k": &p.K, "v": &p.V, "out": &p.PyTorch} {
			info, _ := f.Info(a.prefix + name)
			copy(to.Shape[4-len(info.Shape):], info.Shape)
			to.Shape[0] = max(to.Shape[0], 1)
			if to.Data, err = f.Float32(a.prefix + name); err != nil {
				return nil, fmt.Errorf("%s: %w", a.file, err)
			}
		}
		if _, ok := f.Info(a.prefix + "lengths"); ok {
			lengths, err := f.Int64(a.prefix + "lengths")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.file, err)
			}
			for _, n := range lengths {
				p.Lengths = append(p.Lengths, int(n))
			}
		}
		all = append(all, p)
	}
	return all, nil
}
