package network

import (
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/internal/tensors"
)

// TestQuantized: a network is quantized if one layer of it is, wherever it stands.
func TestQuantized(t *testing.T) {
	w := linear.DenseMatrix(make([]float32, 32*32), 32, 32)
	int8s, err := linear.QuantizeInt8(w, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	floats, err := linear.New(w, nil, kernel.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	inputs, streams, alt, laurel := &Inputs{}, &Streams{In: make([]tensors.Linear, 2), Out: make([]tensors.Linear, 2)}, &AltUp{}, &Laurel{}
	mix, feed, own := &Attention{}, &Gated{}, &Injection{}
	n := &Network{Inputs: inputs, Streams: streams, Layers: []Layer{{Mix: mix, Feed: feed}, {Mix: nothing{}, Feed: nothing{}, Own: own, AltUp: alt, Laurel: laurel}}}
	places := []*tensors.Linear{
		&inputs.Project, &streams.In[1], &streams.Out[1], &alt.Router, &alt.Predict, &alt.Correct, &laurel.Left, &laurel.Right,
		&mix.QKV, &mix.Out, &feed.GateUp, &feed.Down, &own.Gate, &own.Down,
	}
	for _, place := range places {
		*place = tensors.Linear{Parts: []*linear.Linear{floats}, N: 32}
	}
	if n.Quantized() {
		t.Error("a network of float32 is quantized")
	}
	for i, place := range places {
		place.Parts[0] = int8s
		if !n.Quantized() {
			t.Errorf("place %d does not count", i)
		}
		place.Parts[0] = floats
	}
}
