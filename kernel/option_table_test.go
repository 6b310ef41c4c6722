package kernel

import (
	"reflect"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/engine"
	"github.com/attn-go/attn/internal/view"
)

// An optionField is a field of Options or of a struct in it.
type optionField struct {
	arg   string
	index []int
	typ   reflect.Type
	exec  bool // a field of Exec
}

// optionFields returns the fields of a struct that hold a value.
func optionFields(s reflect.Type, arg string, index []int, exec bool) (fields []optionField) {
	for i := range s.NumField() {
		f := s.Field(i)
		at := append(slices.Clone(index), i)
		switch f.Type {
		case reflect.TypeFor[Exec]():
			fields = append(fields, optionFields(f.Type, arg, at, true)...)
		case reflect.TypeFor[Outputs]():
			fields = append(fields, optionFields(f.Type, arg, at, exec)...)
		case reflect.TypeFor[Dropout]():
			fields = append(fields, optionFields(f.Type, arg+"."+f.Name, at, exec)...)
		default:
			fields = append(fields, optionField{arg + "." + f.Name, at, f.Type, exec})
		}
	}
	return fields
}

// use sets the field to a value that is not zero.
func (f *optionField) use(t *testing.T, o reflect.Value) {
	t.Helper()
	v := o.Elem().FieldByIndex(f.index)
	switch {
	case f.typ == reflect.TypeFor[Mask]():
		v.Set(reflect.ValueOf(Causal(0)))
	case f.typ == reflect.TypeFor[Tensor]():
		v.Set(reflect.ValueOf(BHLD(make([]float32, 1), 1, 1, 1, 1)))
	case f.typ == reflect.TypeFor[Tier]():
		v.Set(reflect.ValueOf(Tiers()[0]))
	case f.typ.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.CanFloat():
		v.SetFloat(0.5)
	case f.typ.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(f.typ, 1, 1))
	case f.typ.Kind() == reflect.Func:
		v.Set(reflect.MakeFunc(f.typ, nil))
	default:
		t.Fatalf("%s: the test knows no value of type %v", f.arg, f.typ)
	}
}

// TestOptionTable: every field of Options has a row and what belongs to it. A call that uses the
// option alone is plain only if its row says so, finds its memory by the kind of its row, and
// tells the engine of it.
func TestOptionTable(t *testing.T) {
	rows := map[string]option{}
	for x := range numOptions {
		rows[options[x].arg] = x
	}
	fields := optionFields(reflect.TypeFor[Options](), "Options", nil, false)
	if len(rows) != len(fields) {
		t.Errorf("%d rows for %d fields", len(rows), len(fields))
	}
	for _, f := range fields {
		x, ok := rows[f.arg]
		if !ok {
			t.Errorf("%s has no row", f.arg)
			continue
		}
		var o Options
		f.use(t, reflect.ValueOf(&o))
		c := oneByOne(&o)
		if c.used != optionSet(0).with(x, true) {
			t.Errorf("%s: the options %b are used, want option %d", f.arg, c.used, x)
		}
		if got, want := c.plainlyFits(), plainOptions.has(x); got != want {
			t.Errorf("%s: the call is plain: %v, want %v", f.arg, got, want)
		}
		if kind := options[x].kind; plainOptions.has(x) && kind != freeKind && kind != numberKind && kind != threadsKind {
			t.Errorf("%s: kind %d in a plain call, which checks no overlap", f.arg, kind)
		}
		c.checkOption(x) // panics if there is no value
		c.checkMemory(t, x, f.typ)
		var none, call engine.Call
		if c.resolve(&call); !f.exec {
			c.opts, c.used = new(Options), 0
			if c.resolve(&none); reflect.DeepEqual(none, call) {
				t.Errorf("%s: the engine's call has no trace of it", f.arg)
			}
		}
	}
}

// oneByOne returns a call of one query and one key.
func oneByOne(o *Options) call {
	x := func() *Tensor {
		t := BHLD(make([]float32, 1), 1, 1, 1, 1)
		return &t
	}
	return newCall(x(), x(), x(), x(), o)
}

// checkMemory fails if no overlap with the memory of an option would be found.
func (c *call) checkMemory(t *testing.T, x option, typ reflect.Type) {
	t.Helper()
	var m view.Memory
	switch kind := options[x].kind; typ {
	case reflect.TypeFor[Tensor]():
		if kind == biasKind {
			m = c.bias(x).Memory()
			break
		}
		if kind != outputKind {
			t.Errorf("%s: kind %d, want a tensor that is read or written", options[x].arg, kind)
			return
		}
		out, _ := c.output(x)
		if f := c.checkOutputs(); f != nil {
			t.Errorf("%s: an output for itself: %v", options[x].arg, f)
		}
		*c.out = *out
		if f := c.checkOutputs(); f == nil || f.Arg != options[x].arg {
			t.Errorf("%s: out is the same, got %v", options[x].arg, f)
		}
		return
	case reflect.TypeFor[[]float32]():
		if kind != perHeadKind {
			t.Errorf("%s: kind %d, want numbers for each head", options[x].arg, kind)
			return
		}
		m = view.MemoryOf(c.perHead(x))
	default:
		return
	}
	if f := c.checkOverlap("out", m, nil); f == nil || f.Got != "memory that overlaps "+options[x].arg {
		t.Errorf("%s: out is the same, got %v", options[x].arg, f)
	}
}

// TestFewerOptions: the options of a call that takes fewer than Attention are Options, each of them.
func TestFewerOptions(t *testing.T) {
	var merge MergeOptions
	var backward BackwardOptions
	var partial PartialOptions
	for _, x := range []struct {
		of     any
		all    func() Options
		lacked []option
	}{
		{&merge, func() Options { return merge.options() }, nil},
		{&backward, func() Options { return backward.Forward() }, []option{optionQuantized, optionScore, optionLSE, optionWeights, optionScores, optionScoreStage}},
		{&partial, func() Options { return partial.options() }, []option{optionSinks, optionLSE, optionWeights, optionScores, optionScoreStage}},
	} {
		v := reflect.ValueOf(x.of)
		fields := optionFields(v.Elem().Type(), "Options", nil, false)
		fields = slices.DeleteFunc(fields, func(f optionField) bool { return f.arg == "Options.Accumulate" }) // of no forward call
		for _, f := range fields {
			v.Elem().SetZero()
			f.use(t, v)
			o := x.all()
			if used := o.used(); used == 0 || options[used.first()].arg != f.arg || used.rest() != 0 {
				t.Errorf("%T, %s: the options %b are used", x.of, f.arg, used)
			}
		}
		if want := int(numOptions) - len(x.lacked); x.lacked != nil && len(fields) != want {
			t.Errorf("%T has %d options, want %d: all but %v", x.of, len(fields), want, x.lacked)
		}
	}
}
