package problem

import (
	"bytes"
	"fmt"

	"github.com/attn-go/attn/models/gobytes"
	"github.com/attn-go/attn/models/safetensors"
)

// embeddedFiles are those of gobytes.Activations, with what the files themselves do not say.
var embeddedFiles = []struct {
	path   string
	name   string // of the problem whose tensors have no prefix
	causal bool
	sha256 map[string]string // of each problem's result by the contract
}{
	{"testdata/activations/gobytes.safetensors", "gobytes", true, map[string]string{
		"layer1": "189ae3e7b88e7b3825d4287874aa44bea4e30a86cb2d8b1b13398c5913419257",
		"layer3": "e14c44d69cc6d543b5b3e687759c688e5b5f693bd031ee1311d67f04a0e19866",
	}},
	{"testdata/activations/minilm.safetensors", "minilm", false, map[string]string{
		"minilm": "b0d1c0054262fcea7ee4dc1441fac6f04b4941a681e7f9db185433c73dc0ce3d",
	}},
}

// Activations returns the activations that come with the command.
func Activations() ([]*Problem, error) {
	var all []*Problem
	for _, e := range embeddedFiles {
		data, err := gobytes.Activations.ReadFile(e.path)
		if err != nil {
			return nil, err
		}
		f, err := safetensors.New(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
		problems, err := readProblems(f, e.name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.path, err)
		}
		for _, p := range problems {
			p.Causal = e.causal
			p.SHA256 = e.sha256[p.Name]
		}
		all = append(all, problems...)
	}
	return all, nil
}
