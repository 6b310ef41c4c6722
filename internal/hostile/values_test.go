package hostile

import (
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/kvcache"
	"github.com/attn-go/attn/layer"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/rope"
)

// A change makes a hostile value of a good one.
type change struct {
	name  string
	apply func(w *world, good reflect.Value) reflect.Value
}

// constant is the change to x, whatever the good value is.
func constant(name string, x any) change {
	return change{name, func(*world, reflect.Value) reflect.Value { return reflect.ValueOf(x) }}
}

// typed is a change of values of type T.
func typed[T any](name string, f func(w *world, good T) T) change {
	return change{name, func(w *world, good reflect.Value) reflect.Value {
		x, _ := good.Interface().(T) // an interface that is nil has no type
		x = f(w, x)
		return reflect.ValueOf(&x).Elem()
	}}
}

var integers = []int{0, 1, -1, 2, 3, math.MinInt, math.MaxInt, math.MaxInt32, math.MinInt32, big(30), big(31), big(46), big(62)}

var numbers = []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, 0x1p127, 0x1.000002p127,
	math.SmallestNonzeroFloat32, math.MaxFloat64, math.SmallestNonzeroFloat64}

// changes returns the hostile values of a type.
func changes(t reflect.Type) []change {
	if list, ok := known[t]; ok {
		return list
	}
	list := ofType(t)
	known[t] = list
	return list
}

// known are the changes of types that can be changed by their methods only, and the changes of
// other types that changes has made.
var known = map[reflect.Type][]change{}

func init() {
	known[reflect.TypeFor[kernel.Tensor]()] = tensorChanges()
	known[reflect.TypeFor[kernel.Mask]()] = maskChanges()
	known[reflect.TypeFor[linear.Matrix]()] = matrixChanges()
	known[reflect.TypeFor[*linear.Linear]()] = []change{
		constant("nil", (*linear.Linear)(nil)), constant("zero", new(linear.Linear)),
		typed("no outputs", func(w *world, _ *linear.Linear) *linear.Linear {
			return must(linear.New(linear.DenseMatrix([]float32{}, 0, 4), nil, kernel.Exec{}))
		}),
		typed("no inputs", func(w *world, _ *linear.Linear) *linear.Linear {
			return must(linear.New(linear.DenseMatrix([]float32{}, 4, 0), nil, kernel.Exec{}))
		}),
		typed("quantized", func(w *world, _ *linear.Linear) *linear.Linear {
			return must(linear.FromBlocks(linear.Q8_0, make([]byte, 5*34), 5, 32, nil, kernel.Exec{}))
		}),
	}
	known[reflect.TypeFor[*rope.Rope]()] = []change{constant("nil", (*rope.Rope)(nil)), constant("zero", new(rope.Rope))}
	known[reflect.TypeFor[*kvcache.Cache]()] = []change{constant("nil", (*kvcache.Cache)(nil)), constant("zero", new(kvcache.Cache))}
	known[reflect.TypeFor[*kvcache.Sequence]()] = []change{
		constant("nil", (*kvcache.Sequence)(nil)),
		typed("zero", func(*world, *kvcache.Sequence) *kvcache.Sequence { return new(kvcache.Sequence) }),
		typed("of another cache", func(w *world, _ *kvcache.Sequence) *kvcache.Sequence { return w.cache(1, true).NewSequence() }),
		typed("freed", func(_ *world, s *kvcache.Sequence) *kvcache.Sequence { s.Free(); return s }),
	}
	known[reflect.TypeFor[*kvcache.Batch]()] = []change{
		constant("nil", (*kvcache.Batch)(nil)),
		typed("zero", func(*world, *kvcache.Batch) *kvcache.Batch { return new(kvcache.Batch) }),
		typed("of the zero cache", func(*world, *kvcache.Batch) *kvcache.Batch { return must(new(kvcache.Cache).NewBatch()) }),
		typed("empty", func(_ *world, b *kvcache.Batch) *kvcache.Batch { must(0, b.Set()); return b }),
		typed("of a freed sequence", func(w *world, _ *kvcache.Batch) *kvcache.Batch {
			c := w.cache(1, true)
			s := c.NewSequence()
			b := must(c.NewBatch(s, c.NewSequence()))
			must(0, b.Extend(2))
			s.Free()
			return b
		}),
		typed("of one sequence twice", func(w *world, b *kvcache.Batch) *kvcache.Batch {
			c := w.cache(1, true)
			s := c.NewSequence()
			return must(c.NewBatch(s, s))
		}),
	}
	known[reflect.TypeFor[layer.Similarity]()] = []change{
		typed("nil", func(*world, layer.Similarity) layer.Similarity { return nil }),
		typed("Func(nil)", func(*world, layer.Similarity) layer.Similarity { return layer.Func(nil) }),
		typed("Cosine", func(*world, layer.Similarity) layer.Similarity { return layer.Cosine{} }),
		typed("General{}", func(*world, layer.Similarity) layer.Similarity { return layer.General{} }),
		typed("Additive{}", func(*world, layer.Similarity) layer.Similarity { return layer.Additive{} }),
	}
	known[reflect.TypeFor[func(*kernel.ScoreTile)]()] = []change{
		constant("nil", (func(*kernel.ScoreTile))(nil)),
		constant("that empties the tile", func(t *kernel.ScoreTile) { *t = kernel.ScoreTile{} }),
		constant("that enlarges the tile", func(t *kernel.ScoreTile) {
			t.Scores, t.Stride, t.Keys, t.Key = make([]float32, 1), math.MaxInt, math.MaxInt, -1
			t.Rows = append(t.Rows, kernel.ScoreRow{Head: -1, Query: math.MaxInt})
		}),
		constant("of NaN", func(t *kernel.ScoreTile) {
			for i := range t.Scores {
				t.Scores[i] = float32(math.NaN())
			}
		}),
	}
	known[reflect.TypeFor[io.Writer]()] = []change{
		typed("nil", func(*world, io.Writer) io.Writer { return nil }),
		typed("that fails", func(*world, io.Writer) io.Writer {
			r, w := io.Pipe()
			r.Close()
			return w
		}),
	}
	known[reflect.TypeFor[func(int, func(int))]()] = []change{constant("nil", (func(int, func(int)))(nil))}
	known[reflect.TypeFor[func(int, int)]()] = []change{constant("nil", (func(int, int))(nil))}
	known[reflect.TypeFor[layer.Func]()] = []change{
		constant("nil", layer.Func(nil)),
		constant("of NaN", layer.Func(func(_, _ []float32) float32 { return float32(math.NaN()) })),
	}
	known[reflect.TypeFor[string]()] = []change{constant("empty", ""), constant("unknown", "avx1024"), constant("generic", "generic"), constant("avx2", "avx2"), constant("neon", "neon")}
	known[reflect.TypeFor[error]()] = []change{typed("nil", func(*world, error) error { return nil })}
	known[reflect.TypeFor[any]()] = []change{typed("nil", func(*world, any) any { return nil })}
}

// ofType returns the changes of types that consist of others.
func ofType(t reflect.Type) (list []change) {
	number := func(name string, set func(x reflect.Value)) {
		list = append(list, change{name, func(*world, reflect.Value) reflect.Value {
			x := reflect.New(t).Elem()
			set(x)
			return x
		}})
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		for _, n := range integers {
			number(fmt.Sprint(n), func(x reflect.Value) { x.SetInt(int64(n)) })
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		for _, n := range []uint64{0, 1, 2, 3, 4, 0x7c00, 0x7fff, math.MaxUint64} {
			number(fmt.Sprint(n), func(x reflect.Value) { x.SetUint(n) })
		}
	case reflect.Float32, reflect.Float64:
		for _, n := range numbers {
			number(fmt.Sprint(n), func(x reflect.Value) { x.SetFloat(n) })
		}
	case reflect.Bool:
		return []change{constant("false", false), constant("true", true)}
	case reflect.Slice:
		return sliceChanges(t)
	case reflect.Array:
		for i := range t.Len() {
			list = append(list, within(fmt.Sprintf("[%d]", i), changes(t.Elem()), func(x reflect.Value) reflect.Value { return x.Index(i) })...)
		}
		for _, c := range changes(t.Elem()) { // all elements at once
			list = append(list, change{"all " + c.name, func(w *world, good reflect.Value) reflect.Value {
				x := reflect.New(t).Elem()
				for i := range t.Len() {
					x.Index(i).Set(c.apply(w, good.Index(i)))
				}
				return x
			}})
		}
	case reflect.Struct:
		list = append(list, change{"zero", func(*world, reflect.Value) reflect.Value { return reflect.New(t).Elem() }})
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				list = append(list, within("."+f.Name, changes(f.Type), func(x reflect.Value) reflect.Value { return x.Field(i) })...)
			}
		}
	case reflect.Pointer:
		list = append(list, change{"nil", func(*world, reflect.Value) reflect.Value { return reflect.Zero(t) }})
		for _, c := range changes(t.Elem()) {
			list = append(list, change{c.name, func(w *world, good reflect.Value) reflect.Value {
				p := reflect.New(t.Elem())
				if !good.IsNil() {
					p.Elem().Set(good.Elem())
				}
				p.Elem().Set(c.apply(w, p.Elem()))
				return p
			}})
		}
	default:
		panic(fmt.Sprintf("no hostile values of type %v", t))
	}
	return list
}

// within returns changes of a part of a value.
func within(name string, of []change, part func(whole reflect.Value) reflect.Value) (list []change) {
	for _, c := range of {
		list = append(list, change{name + " " + c.name, func(w *world, good reflect.Value) reflect.Value {
			x := reflect.New(good.Type()).Elem()
			x.Set(good)
			part(x).Set(c.apply(w, part(good)))
			return x
		}})
	}
	return list
}

// sliceChanges returns slices of other lengths, with other elements, and of floats such that
// overlap with other arguments.
func sliceChanges(t reflect.Type) []change {
	list := []change{
		{"nil", func(*world, reflect.Value) reflect.Value { return reflect.Zero(t) }},
		{"empty", func(*world, reflect.Value) reflect.Value { return reflect.MakeSlice(t, 0, 0) }},
		{"short", func(_ *world, good reflect.Value) reflect.Value { return good.Slice(0, max(good.Len()-1, 0)) }},
		{"long", func(_ *world, good reflect.Value) reflect.Value {
			return reflect.Append(good.Slice3(0, good.Len(), good.Len()), reflect.Zero(t.Elem()))
		}},
	}
	for _, end := range []string{"first", "last"} {
		for _, c := range changes(t.Elem()) {
			list = append(list, change{end + " " + c.name, func(w *world, good reflect.Value) reflect.Value {
				n, i := good.Len(), 0
				if end == "last" {
					i = n - 1
				}
				x := reflect.MakeSlice(t, n, n)
				reflect.Copy(x, good)
				if n > 0 {
					x.Index(i).Set(c.apply(w, good.Index(i)))
				}
				return x
			}})
		}
	}
	if t == reflect.TypeFor[[]float32]() {
		for x := range mostParts {
			list = append(list, typed(fmt.Sprintf("the memory of %d", x), func(w *world, good []float32) []float32 {
				p := w.part(x)
				return p[:min(len(p), len(good))]
			}))
		}
		list = append(list,
			typed("shifted", func(_ *world, good []float32) []float32 { // over the start of the next one, if it has none of its own
				return good[min(1, cap(good)-len(good)):min(len(good)+1, cap(good))]
			}),
			typed("all memory", func(w *world, _ []float32) []float32 { return w.memory }))
	}
	return list
}

// mostParts is how many of the other arguments' slices a slice is made to overlap with.
const mostParts = 8

// tensorChanges returns tensors of other shapes, strides, types and memory.
func tensorChanges() (list []change) {
	add := func(name string, f func(w *world, t kernel.Tensor) kernel.Tensor) {
		list = append(list, typed(name, f))
	}
	for i := range 4 {
		for _, n := range integers {
			add(fmt.Sprintf("dimension %d = %d", i, n), func(_ *world, t kernel.Tensor) kernel.Tensor {
				shape := t.Shape()
				shape[i] = n
				return kernel.Strided(data(t), shape, t.Strides())
			})
		}
	}
	for i := range 3 {
		for _, n := range integers {
			add(fmt.Sprintf("stride %d = %d", i, n), func(_ *world, t kernel.Tensor) kernel.Tensor {
				strides := t.Strides()
				strides[i] = n
				return kernel.Strided(data(t), t.Shape(), strides)
			})
			add(fmt.Sprintf("without dimension %d, the others %d", i, n), func(_ *world, t kernel.Tensor) kernel.Tensor {
				shape := [4]int{n, n, n, t.Shape()[3]}
				shape[i] = 0
				return kernel.BHLD(data(t), shape[0], shape[1], shape[2], shape[3])
			})
			add(fmt.Sprintf("%d times one row along %d", n, i), func(_ *world, t kernel.Tensor) kernel.Tensor {
				shape := t.Shape()
				shape[i] = n
				return kernel.Strided(data(t), shape, [3]int{})
			})
		}
	}
	add("zero", func(*world, kernel.Tensor) kernel.Tensor { return kernel.Tensor{} })
	add("without memory", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return kernel.Strided[float32](nil, t.Shape(), t.Strides())
	})
	add("short of one", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return kernel.Strided(data(t)[:max(len(data(t))-1, 0)], t.Shape(), t.Strides())
	})
	for x := range mostParts {
		add(fmt.Sprintf("the memory of %d", x), func(w *world, t kernel.Tensor) kernel.Tensor {
			return kernel.Strided(w.part(x), t.Shape(), t.Strides())
		})
	}
	add("all memory", func(w *world, t kernel.Tensor) kernel.Tensor { return kernel.Strided(w.memory, t.Shape(), t.Strides()) })
	add("float16", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return kernel.Strided(make([]kernel.F16, len(data(t))), t.Shape(), t.Strides())
	})
	add("bfloat16", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return kernel.Strided(make([]kernel.BF16, len(data(t))), t.Shape(), t.Strides())
	})
	add("float16 of no memory", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return kernel.Strided([]kernel.F16{}, t.Shape(), t.Strides())
	})
	add("float8_e4m3", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return kernel.Strided(make([]kernel.F8E4M3, len(data(t))), t.Shape(), t.Strides())
	})
	add("float8_e5m2 with scales", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return kernel.Strided(make([]kernel.F8E5M2, len(data(t))), t.Shape(), t.Strides()).Scaled(&t)
	})
	integer := func(t kernel.Tensor) kernel.Tensor {
		return kernel.Strided(make([]int8, len(data(t))), t.Shape(), t.Strides())
	}
	add("int8 without scales", func(_ *world, t kernel.Tensor) kernel.Tensor { return integer(t) })
	add("int8 with scales", func(w *world, t kernel.Tensor) kernel.Tensor {
		s := kernel.Strided(w.memory[:1], [4]int{t.Shape()[0], t.Shape()[1], t.Shape()[2], 1}, [3]int{})
		return integer(t).Scaled(&s)
	})
	add("int8 with itself as scales", func(_ *world, t kernel.Tensor) kernel.Tensor { s := integer(t); return s.Scaled(&s) })
	add("int8 with scales that are zero", func(_ *world, t kernel.Tensor) kernel.Tensor { return integer(t).Scaled(&kernel.Tensor{}) })
	add("int8 with scales that are nil", func(_ *world, t kernel.Tensor) kernel.Tensor { return integer(t).Scaled(nil) })
	add("float32 with scales", func(_ *world, t kernel.Tensor) kernel.Tensor { s := t; return t.Scaled(&s) })
	for _, p := range []struct {
		name  string
		table *kernel.PageTable
	}{
		{"nil", nil},
		{"zero", &kernel.PageTable{}},
		{"one page each", &kernel.PageTable{Pages: [][]int32{{0}, {1}}, Lengths: []int{3, 3}}},
		{"missing lists", &kernel.PageTable{Pages: [][]int32{{0}}, Lengths: []int{3, 3}}},
		{"missing pages", &kernel.PageTable{Pages: [][]int32{{}, {}}, Lengths: []int{3, math.MaxInt}}},
		{"bad pages", &kernel.PageTable{Pages: [][]int32{{-1}, {math.MaxInt32}}, Lengths: []int{1, 1}}},
		{"bad lengths", &kernel.PageTable{Pages: [][]int32{{0}, {1}}, Lengths: []int{math.MinInt, -1}}},
	} {
		add("paged by a table, "+p.name, func(_ *world, t kernel.Tensor) kernel.Tensor { return t.Paged(p.table) })
	}
	add("paged twice", func(_ *world, t kernel.Tensor) kernel.Tensor {
		return t.Paged(&kernel.PageTable{}).Paged(&kernel.PageTable{})
	})
	for _, starts := range [][]int{nil, {}, {0}, {0, 1, 2}, {0, 3, 6}, {math.MinInt, math.MaxInt}, {math.MaxInt, math.MinInt, 0}, {0, -1, 2}, {1 << 30, 1 << 30, 1 << 30}} {
		add(fmt.Sprintf("ragged by %v", starts), func(_ *world, t kernel.Tensor) kernel.Tensor {
			s := t.Shape()
			return kernel.BLHD(data(t), 1, s[2], s[1], s[3]).Ragged(starts)
		})
		add(fmt.Sprintf("packed by %v", starts), func(_ *world, t kernel.Tensor) kernel.Tensor {
			return kernel.Ragged(data(t), starts, t.Shape()[1], t.Shape()[3])
		})
	}
	return list
}

func maskChanges() (list []change) {
	add := func(name string, m kernel.Mask) { list = append(list, constant(name, m)) }
	add("none", kernel.Mask{})
	for _, n := range integers {
		add(fmt.Sprintf("Causal(%d)", n), kernel.Causal(n))
		add(fmt.Sprintf("Window(%d, 0)", n), kernel.Window(n, 0))
		add(fmt.Sprintf("Window(-1, %d)", n), kernel.Window(-1, n))
		add(fmt.Sprintf("Window(%d, %d)", n, n), kernel.Window(n, n))
		add(fmt.Sprintf("Chunked(%d)", n), kernel.Chunked(n))
		add(fmt.Sprintf("KeyRange(%d, 3)", n), kernel.KeyRange(n, 3))
		add(fmt.Sprintf("QueryRange(1, %d)", n), kernel.QueryRange(1, n))
		add(fmt.Sprintf("a union with KeyRange(0, %d)", n), kernel.Window(1, 0).Or(kernel.KeyRange(0, n)).Or(kernel.QueryRange(n, 2)))
		add(fmt.Sprintf("a union with KeyLengths(%d, 0)", n), kernel.KeyLengths([]int{n, 0}).Or(kernel.Chunked(n)))
		add(fmt.Sprintf("PrefixLM(%d)", n), kernel.PrefixLM([]int{n}))
		add(fmt.Sprintf("KeyLengths(%d, 0)", n), kernel.KeyLengths([]int{n, 0}))
		add(fmt.Sprintf("QueryLengths(3, %d)", n), kernel.QueryLengths([]int{3, n}))
		add(fmt.Sprintf("BlockSparse of %d queries", n), kernel.BlockSparse(make([]bool, 21), n, 1))
		add(fmt.Sprintf("BlockSparse of %d keys", n), kernel.BlockSparse(make([]bool, 3), 1, n))
		for i := range 4 {
			shape := [4]int{2, 4, 3, 7}
			shape[i] = n
			add(fmt.Sprintf("Visible %v", shape), kernel.Visible(make([]bool, 168), shape))
			add(fmt.Sprintf("VisibleLast %v", shape), kernel.VisibleLast(make([]bool, 168), shape))
			add(fmt.Sprintf("Hide %v", shape), layer.HiddenMask(make([]uint8, 168), shape))
			if i < 3 {
				strides := [3]int{0, 0, 7}
				strides[i] = n
				add(fmt.Sprintf("VisibleStrided with %v", strides), kernel.VisibleStrided(make([]bool, 168), [4]int{2, 4, 3, 7}, strides))
			}
		}
		add(fmt.Sprintf("Padding(%d)", n), layer.PaddingMask(make([]bool, 14), n))
	}
	add("Segments(nil)", kernel.Segments(nil, nil))
	add("Segments", kernel.Segments([]int32{math.MinInt32, 0, math.MaxInt32, 1, 2, 3}, make([]int32, 14)))
	add("KeyLengths(nil)", kernel.KeyLengths(nil))
	add("PrefixLM(nil)", kernel.PrefixLM(nil))
	add("BlockSparse(nil)", kernel.BlockSparse(nil, 0, 0))
	many := kernel.Mask{}
	for range 9 {
		many = many.And(kernel.Causal(1)).And(kernel.Visible(nil, [4]int{}))
	}
	add("many", many)
	add("a union of many", many.Or(kernel.Causal(1)).Or(many))
	several := kernel.Causal(1).Or(kernel.Window(1, 1)).And(kernel.Chunked(2).Or(kernel.KeyRange(1, 2)))
	add("a union of several", several.Or(several))
	add("several", several.And(several))
	return list
}

func matrixChanges() (list []change) {
	add := func(name string, f func(w *world, m linear.Matrix) linear.Matrix) {
		list = append(list, typed(name, f))
	}
	of := func(m linear.Matrix) []float32 {
		rows, cols := m.Shape()
		return make([]float32, rows*cols)
	}
	for _, n := range integers {
		add(fmt.Sprintf("%d rows", n), func(w *world, m linear.Matrix) linear.Matrix {
			_, cols := m.Shape()
			return linear.DenseMatrix(of(m), n, cols)
		})
		add(fmt.Sprintf("%d rows that are one", n), func(w *world, m linear.Matrix) linear.Matrix {
			_, cols := m.Shape()
			return linear.StridedMatrix(of(m), n, cols, 0, 1)
		})
		add(fmt.Sprintf("%d columns", n), func(w *world, m linear.Matrix) linear.Matrix {
			rows, _ := m.Shape()
			return linear.DenseMatrix(of(m), rows, n)
		})
		add(fmt.Sprintf("%d columns that are one", n), func(w *world, m linear.Matrix) linear.Matrix {
			rows, _ := m.Shape()
			return linear.StridedMatrix(of(m), rows, n, 1, 0)
		})
		add(fmt.Sprintf("%d rows without columns", n), func(w *world, m linear.Matrix) linear.Matrix { return linear.DenseMatrix(of(m), n, 0) })
		add(fmt.Sprintf("%d columns without rows", n), func(w *world, m linear.Matrix) linear.Matrix { return linear.DenseMatrix(of(m), 0, n) })
		add(fmt.Sprintf("row stride %d", n), func(w *world, m linear.Matrix) linear.Matrix {
			rows, cols := m.Shape()
			return linear.StridedMatrix(of(m), rows, cols, n, 1)
		})
		add(fmt.Sprintf("column stride %d", n), func(w *world, m linear.Matrix) linear.Matrix {
			rows, cols := m.Shape()
			return linear.StridedMatrix(of(m), rows, cols, cols, n)
		})
	}
	for x := range mostParts {
		add(fmt.Sprintf("the memory of %d", x), func(w *world, m linear.Matrix) linear.Matrix {
			rows, cols := m.Shape()
			return linear.DenseMatrix(w.part(x), rows, cols)
		})
	}
	add("zero", func(*world, linear.Matrix) linear.Matrix { return linear.Matrix{} })
	add("transposed", func(_ *world, m linear.Matrix) linear.Matrix { return m.T() })
	add("float16", func(_ *world, m linear.Matrix) linear.Matrix {
		rows, cols := m.Shape()
		return linear.DenseMatrix(make([]kernel.F16, rows*cols), rows, cols)
	})
	add("bfloat16 of no memory", func(_ *world, m linear.Matrix) linear.Matrix {
		rows, cols := m.Shape()
		return linear.DenseMatrix([]kernel.BF16{}, rows, cols)
	})
	return list
}
