package kernel

import (
	"reflect"
	"testing"

	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/scoring"
)

// TestOutputs: every tensor of Outputs is checked, found as memory that another output shares, and
// passed to the engine, and a call with one is not plain.
func TestOutputs(t *testing.T) {
	for x, name := range outputNames {
		var o Options
		field := reflect.ValueOf(&o.Outputs).Elem().FieldByName(name[len("Options."):])
		if !field.IsValid() {
			t.Fatalf("Outputs has no field for %s", name)
		}
		field.Set(reflect.ValueOf(BHLD(make([]float32, 1), 1, 1, 1, 1)))
		c := oneByOne(&o)
		if c.isPlain {
			t.Errorf("%s: the call is plain", name)
		}
		if f := c.checkOutputs(); f != nil {
			t.Errorf("%s: an output for itself: %v", name, f)
		}
		var none, call engine.Call
		c.resolve(&call)
		*c.out = *o.tensors()[x]
		if f := c.checkOutputs(); f == nil || f.Where != name {
			t.Errorf("%s: out is the same, got %v", name, f)
		}
		c = oneByOne(new(Options))
		if c.resolve(&none); reflect.DeepEqual(none.LSE, call.LSE) && reflect.DeepEqual(none.Weights, call.Weights) && reflect.DeepEqual(none.Scores, call.Scores) {
			t.Errorf("%s: the engine's call has no trace of it", name)
		}
	}
	tensors := 0
	for i := range reflect.TypeFor[Outputs]().NumField() {
		if reflect.TypeFor[Outputs]().Field(i).Type == reflect.TypeFor[Tensor]() {
			tensors++
		}
	}
	if tensors != len(outputNames) {
		t.Errorf("Outputs has %d tensors, of which %d have names", tensors, len(outputNames))
	}
}

// oneByOne returns a call of one query and one key.
func oneByOne(o *Options) call {
	x := func() *Tensor {
		t := BHLD(make([]float32, 1), 1, 1, 1, 1)
		return &t
	}
	return newCall(scoring.Attention, x(), x(), x(), x(), &o.Exec, &o.Scoring, &o.Outputs)
}

// TestPlainOptions: a call is plain with Scale, with products of a kind that fits its tensors, and
// with what says how it is executed, and with nothing else.
func TestPlainOptions(t *testing.T) {
	for _, x := range []struct {
		o    Options
		want bool
	}{
		{Options{}, true},
		{Options{Exec: Exec{Tier: Tiers()[0], Threads: 2, ParallelFor: func(int, func(int)) {}}}, true},
		{Options{Scoring: Scoring{Scale: 2}}, true},
		{Options{Scoring: Scoring{BFloat16: true}}, true},
		{Options{Scoring: Scoring{DynamicInt12: true}}, false}, // which takes integers
		{Options{Scoring: Scoring{Softcap: 2}}, false},
		{Options{Outputs: Outputs{ScoreStage: ScoresMasked}}, false},
	} {
		if c := oneByOne(&x.o); c.plainlyFits() != x.want {
			t.Errorf("%+v: the call is plain: %v, want %v", x.o, !x.want, x.want)
		}
	}
}
