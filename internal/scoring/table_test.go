package scoring

import (
	"reflect"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/view"
)

// use sets the field to a value that is not zero.
func use(t *testing.T, s *Scoring, f reflect.StructField) {
	t.Helper()
	switch x := reflect.ValueOf(s).Elem().FieldByIndex(f.Index).Addr().Interface().(type) {
	case *mask.Mask:
		*x = mask.OfRule(mask.Rule{Kind: new(mask.Kind)}, nil)
	case *view.Tensor:
		*x = view.Floats(make([]float32, 1), [4]int{1, 1, 1, 1}, [3]int{1, 1, 1})
	case *bool:
		*x = true
	case *float32:
		*x = 0.5
	case *[]float32:
		*x = make([]float32, 1)
	case *[]int:
		*x = make([]int, 1)
	case *[]int32:
		*x = []int32{-1}
	case *view.KeyRows:
		*x = view.KeyRows{Rows: make([]int32, 1), Shape: [4]int{1, 1, 1, 1}}
	case *Dropout:
		x.Rate = 0.5
	case *func(*Tile):
		*x = func(*Tile) {}
	default:
		t.Fatalf("%s: the test knows no value of type %v", f.Name, f.Type)
	}
}

var one = view.Scores{Batch: 1, Heads: 1, Queries: 1, Keys: 1}

// TestTable: every field has a row, and what belongs to it. With that field alone, a call passes
// the check or says that it does not take it, is plain only if the row says so, and finds the
// memory that it reads.
func TestTable(t *testing.T) {
	all := reflect.VisibleFields(reflect.TypeFor[Scoring]())
	if len(all) != int(numFields) {
		t.Errorf("%d rows for %d fields", numFields, len(all))
	}
	for _, f := range all {
		f.Name = "Options." + f.Name
		at := slices.IndexFunc(fields[:], func(r row) bool { return r.arg == f.Name })
		if at < 0 {
			t.Errorf("%s has no row", f.Name)
			continue
		}
		var s Scoring
		use(t, &s, f)
		u, r := s.Used(), &fields[at]
		if of := map[kind]reflect.Type{number: reflect.TypeFor[float32](), perHead: reflect.TypeFor[[]float32](), positions: reflect.TypeFor[[]int]()}[r.kind]; of != nil && (of != f.Type || r.at != f.Offset) {
			t.Errorf("%s: a %v at %d, want a %v at %d", f.Name, of, r.at, f.Type, f.Offset)
		}
		if u != Set(0).with(field(at), true) {
			t.Errorf("%s: the fields %b are used, want field %d", f.Name, u, at)
		}
		if u.Plain() != r.plain {
			t.Errorf("%s: the call is plain: %v, want %v", f.Name, u.Plain(), r.plain)
		}
		if r.plain && r.kind != free && r.kind != number {
			t.Errorf("%s: kind %d in a plain call, which checks no overlap", f.Name, r.kind)
		}
		for by := range calls {
			switch failure := s.Check(u, &one, by); {
			case r.not[by] == "" && failure != nil:
				t.Errorf("%s: call %d does not take it: %v", f.Name, by, failure)
			case r.not[by] != "" && (failure == nil || failure.Where != f.Name || failure.Want != r.not[by]):
				t.Errorf("%s: call %d, got %v, want %s", f.Name, by, failure, r.not[by])
			}
		}
		checkMemory(t, &s, f)
	}
}

// checkMemory fails if no overlap with the memory of a field would be found.
func checkMemory(t *testing.T, s *Scoring, f reflect.StructField) {
	t.Helper()
	var m view.Memory
	switch x := reflect.ValueOf(s).Elem().FieldByIndex(f.Index).Addr().Interface().(type) {
	case *view.Tensor:
		m = x.Memory()
	case *[]float32:
		m = view.MemoryOf(*x)
	case *[]int32:
		m = view.MemoryOf(*x)
	case *view.KeyRows:
		m = view.MemoryOf(x.Rows)
	default:
		return
	}
	if with := s.Overlap(m); with != f.Name {
		t.Errorf("%s: its memory overlaps %q", f.Name, with)
	}
	inputs := s.Inputs()
	if !slices.Contains(inputs[:], Input{f.Name, m}) {
		t.Errorf("%s is none of the inputs %v", f.Name, inputs)
	}
}

// TestUnusable: a value that no call takes is an error which names the field.
func TestUnusable(t *testing.T) {
	for name, s := range map[string]Scoring{
		"Options.Scale": {Scale: 0x1.8p127}, "Options.Softcap": {Softcap: -1}, "Options.Dropout.Rate": {Dropout: Dropout{Rate: 1}},
		"Options.ALiBi": {ALiBi: []float32{1, 2}}, "Options.Sinks": {Sinks: []float32{0x1.8p127}}, "Options.QueryStart": {QueryStart: []int{1 << 30}},
		"Options.KeyStart": {KeyStart: []int{-1}}, "Options.Dropout.Sequences": {Dropout: Dropout{Sequences: make([]uint32, 2)}},
		"Options.Bias": {Bias: view.Floats(make([]float32, 2), [4]int{1, 2, 1, 1}, [3]int{2, 1, 1})},
	} {
		if f := s.Check(s.Used(), &one, Attention); f == nil || f.Where != name {
			t.Errorf("%s: got %v", name, f)
		}
	}
}
