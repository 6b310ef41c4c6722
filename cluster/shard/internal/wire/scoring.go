package wire

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/attn-go/attn/kernel"
)

// Scoring is what a message has of a kernel.Scoring. Numbers are their bits, as JSON has no
// infinity.
type Scoring struct {
	Scale, Softcap uint32
	Window         *[2]int  `json:",omitempty"` // keys to the left and to the right that a query sees, -1 for all
	ALiBi          []uint32 `json:",omitempty"` // slopes: none, or one for each query head
}

// NewScoring returns what a message has of s, which [CheckScoring] accepts.
func NewScoring(s *kernel.Scoring) Scoring {
	x := Scoring{Scale: math.Float32bits(s.Scale), Softcap: math.Float32bits(s.Softcap)}
	if left, right, _ := s.Mask.Window(); left >= 0 || right >= 0 { // beyond an int32 they reach from any position to any other
		x.Window = &[2]int{min(left, math.MaxInt32), min(right, math.MaxInt32)}
	}
	for _, slope := range s.ALiBi {
		x.ALiBi = append(x.ALiBi, math.Float32bits(slope))
	}
	return x
}

// Kernel returns the options of the kernel.
func (x *Scoring) Kernel() kernel.Scoring {
	s := kernel.Scoring{Scale: math.Float32frombits(x.Scale), Softcap: math.Float32frombits(x.Softcap)}
	if x.Window != nil {
		s.Mask = kernel.Window(x.Window[0], x.Window[1])
	}
	for _, slope := range x.ALiBi {
		s.ALiBi = append(s.ALiBi, math.Float32frombits(slope))
	}
	return s
}

// check returns what is wrong with the scoring of so many query heads.
func (x *Scoring) check(heads int) string {
	if w := x.Window; w != nil && (min(w[0], w[1]) < -1 || max(w[0], w[1]) < 0 || max(w[0], w[1]) > math.MaxInt32) {
		return fmt.Sprintf("a window of %d and %d keys", w[0], w[1])
	}
	if n := len(x.ALiBi); n != 0 && n != heads {
		return fmt.Sprintf("%d slopes for %d heads", n, heads)
	}
	return ""
}

// ScoringBytes returns the most bytes of s in a message.
func ScoringBytes(s *kernel.Scoring) int { return 128 + 11*len(s.ALiBi) }

// taken are the fields of kernel.Scoring that calls over shards take: a message has them, or the
// client looks at them by itself. Sinks count where it merges, and QueryStart is in each item.
var taken = []string{"Scale", "Softcap", "Mask", "ALiBi", "Sinks", "QueryStart"}

// CheckScoring returns an error about the first field that calls over shards do not take. Those
// that say nothing to the kernel are taken.
func CheckScoring(s *kernel.Scoring) error {
	all := reflect.ValueOf(*s)
	for i := range all.NumField() {
		name, x := all.Type().Field(i).Name, all.Field(i)
		isSet := !x.IsZero()
		switch name {
		case "KeyStart":
			isSet = x.Len() > 0
		case "Dropout":
			isSet = s.Dropout.Rate != 0
		}
		if isSet && !slices.Contains(taken, name) {
			return &kernel.Error{Where: "Options." + name, Got: nameValue(x), Want: "none: workers have parts of the keys, and only some settings are sent to them"}
		}
	}
	if _, _, ok := s.Mask.Window(); !ok {
		return &kernel.Error{Where: "Options.Mask", Got: "another mask", Want: "kernel.Window, or kernel.Causal from 0 on"}
	}
	return nil
}

// nameValue says what a field has.
func nameValue(x reflect.Value) string {
	switch value := x.Interface().(type) {
	case bool, kernel.Tensor:
		return fmt.Sprint(value)
	case kernel.Dropout:
		return fmt.Sprintf("a rate of %v", value.Rate)
	case kernel.KeyRows:
		return fmt.Sprintf("lists of the shape %v", value.Shape)
	}
	if x.Kind() == reflect.Slice {
		return fmt.Sprintf("%d numbers", x.Len())
	}
	return "a " + x.Kind().String()
}
