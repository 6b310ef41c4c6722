package results

import (
	"reflect"
	"testing"
)

// Of repeated rows the one with the median time stays, with the times of all.
func TestAddRuns(t *testing.T) {
	run := func(ns, rate float64) *File {
		return &File{Linear: []Linear{{Rows: 1, Timing: Timing{Ns: ns}, Rate: rate}, {Rows: 2, Timing: Timing{Ns: 2 * ns}}}, Options: []Option{{With: ns}},
			Accuracy: &Accuracy{Tier: "x"}}
	}
	f := run(30, 3)
	f.AddRuns([]*File{run(10, 1), run(20, 2)})
	want := []Linear{{Rows: 1, Timing: Timing{Ns: 20, Runs: []float64{30, 10, 20}}, Rate: 2}, {Rows: 2, Timing: Timing{Ns: 40, Runs: []float64{60, 20, 40}}}}
	if !reflect.DeepEqual(f.Linear, want) || f.Options[0].With != 20 || len(f.Options[0].Runs) != 3 || f.Accuracy == nil {
		t.Errorf("%+v", f)
	}
	f = run(30, 3)
	f.AddRuns(nil)
	if len(f.Linear) != 2 || f.Linear[0].Runs != nil {
		t.Errorf("one run: %+v", f)
	}
	f = run(30, 3)
	f.AddRuns([]*File{{Linear: run(10, 1).Linear[:1]}, {}}) // the second was interrupted
	if len(f.Linear) != 2 || f.Linear[0].Ns != 10 || f.Linear[1].Ns != 60 {
		t.Errorf("after an interrupt: %+v", f)
	}
}

// All lists of rows with times are repeated: each has a field for the times of all repetitions.
func TestAllRowsRepeat(t *testing.T) {
	f := full()
	f.AddRuns([]*File{full(), full()})
	v := reflect.ValueOf(*f)
	for i := range v.NumField() {
		name, list := v.Type().Field(i).Name, v.Field(i)
		if list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct || name == "Groups" {
			continue
		}
		if runs, ok := list.Type().Elem().FieldByName("Runs"); ok && runs.Type == reflect.TypeFor[[]float64]() && (list.Len() != 2 || list.Index(0).FieldByName("Runs").Len() != 3) {
			t.Errorf("%s has %v", name, list)
		}
	}
}
