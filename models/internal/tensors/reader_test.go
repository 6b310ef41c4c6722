package tensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/ggufwriter"
	"github.com/attn-go/attn/models/internal/inventory"
	"github.com/attn-go/attn/models/internal/loading"
	"github.com/attn-go/attn/numeric"
)

// numbersOf returns n numbers, which binary16 and bfloat16 have, too.
func numbersOf(n, seed int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((i*i*7+i*seed)%61-30) / 16
	}
	return x
}

// encoded returns numbers as files have them.
func encoded(t testing.TB, x []float32, kind gguf.Type) (raw []byte) {
	if elements, _ := kind.Block(); elements > 1 {
		raw = make([]byte, kind.Size(len(x)))
		for i := range raw {
			raw[i] = byte(int(x[i%len(x)]*16) & 31) // scales that are small
		}
		return raw
	}
	for _, y := range x {
		switch kind {
		case gguf.F16:
			raw = binary.LittleEndian.AppendUint16(raw, uint16(numeric.ToF16(y)))
		case gguf.BF16:
			raw = binary.LittleEndian.AppendUint16(raw, uint16(numeric.ToBF16(y)))
		case gguf.F32:
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(y))
		default:
			t.Fatalf("no numbers of %v", kind)
		}
	}
	return raw
}

// ggufOf returns a GGUF file of tensors.
func ggufOf(t testing.TB, tensors ...gguf.Tensor) *gguf.File {
	f, err := gguf.New((&ggufwriter.File{Tensors: tensors}).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func tensorOf(t testing.TB, name string, kind gguf.Type, seed int, shape ...int) gguf.Tensor {
	return gguf.Tensor{Name: name, Type: kind, Shape: shape, Data: encoded(t, numbersOf(inventory.Elements(shape), seed), kind)}
}

// onDisk returns the store of tensors in a file that is not mapped.
func onDisk(tensors ...gguf.Tensor) *Store {
	s := &Store{tensors: map[string]*tensor{}, kinds: "F32, F16, BF16 or blocks"}
	var all []byte
	of := &file{path: "file"}
	for _, x := range tensors {
		s.tensors[x.Name] = &tensor{Info: Info{x.Type, x.Type.String(), x.Shape, int64(len(x.Data))}, file: of, at: int64(len(all))}
		all = append(all, x.Data...)
	}
	of.r = bytes.NewReader(all)
	return s
}

// rowsOf returns the weights of layers, row after row.
func rowsOf(t testing.TB, l Linear) (all []float32) {
	t.Helper()
	for _, p := range l.Parts {
		n, k := p.Shape()
		x, rows := make([]float32, n*k), make([]int32, n)
		for i := range rows {
			rows[i] = int32(i)
		}
		if err := p.Rows(linear.DenseMatrix(x, n, k), rows, kernel.Exec{}); err != nil {
			t.Fatal(err)
		}
		all = append(all, x...)
	}
	return all
}

// outputsOf returns what layers make of zeros: their biases.
func outputsOf(t testing.TB, l Linear) (all []float32) {
	t.Helper()
	for _, p := range l.Parts {
		n, k := p.Shape()
		y := make([]float32, n)
		if err := p.Apply(linear.DenseMatrix(y, 1, n), linear.DenseMatrix(make([]float32, k), 1, k), linear.Options{}); err != nil {
			t.Fatal(err)
		}
		all = append(all, y...)
	}
	return all
}

// TestNumbers: numbers of every type are the same ones, of files that are mapped and of
// others, whether they stay as they are or become float32.
func TestNumbers(t *testing.T) {
	const rows, k = 5, 64 * 1024 // more than one piece
	for kind := range gguf.Type(64) {
		if !kind.Converts() {
			continue
		}
		x := tensorOf(t, "x", kind, 3, rows, k)
		want, err := x.Float32()
		if err != nil {
			t.Fatal(err)
		}
		done := int64(0)
		for _, s := range []*Store{OfGGUF(ggufOf(t, x), ""), onDisk(x)} {
			r := &Reader{Store: s, Meter: loading.New(s.Bytes(), func(n, _ int64) { done = n })}
			if got := r.Floats("x", rows, k); !slices.Equal(got, want) {
				t.Errorf("%v: other numbers", kind)
			}
			if done != int64(len(x.Data)) {
				t.Errorf("%v: the meter has %d bytes of %d", kind, done, len(x.Data))
			}
			kept, two := r.Numbers("x", rows, k), make([]float32, 2*k)
			if err := kept.Rows(two, []int32{3, 1}, kernel.Exec{}); err != nil || !slices.Equal(two, slices.Concat(want[3*k:4*k], want[k:2*k])) {
				t.Errorf("%v: rows have other numbers, %v", kind, err)
			}
			if dtype := dtypes[kind]; kept.Type != dtype {
				t.Errorf("%v is kept as %v", kind, kept.Type)
			}
			if err := r.Done(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLinear: layers of all types, joined or not, of parts of tensors or whole ones, have
// the weights and biases of the files.
func TestLinear(t *testing.T) {
	const k = 256
	kinds := []gguf.Type{gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0, gguf.Q4_K, gguf.IQ3_S, gguf.TQ1_0, gguf.IQ4_XS}
	for _, a := range kinds {
		for _, b := range kinds {
			x, y := tensorOf(t, "x.weight", a, 3, 2, 3, k), tensorOf(t, "y.weight", b, 5, 4, k)
			bias := tensorOf(t, "x.bias", gguf.F32, 9, 2, 3)
			wx, errX := x.Float32()
			wy, errY := y.Float32()
			if err := errors.Join(errX, errY); err != nil {
				t.Fatal(err)
			}
			want := slices.Concat(wx[3*k:], wy[k:3*k])
			biases := slices.Concat(numbersOf(6, 9)[3:], make([]float32, 2))
			parts := []Part{{Name: "x", Shape: []int{2, 3, k}, First: 3, Rows: 3, Bias: arch.AsFiles}, {Name: "y", Shape: []int{4, k}, First: 1, Rows: 2, Bias: arch.AsFiles}}
			for _, s := range []*Store{OfGGUF(ggufOf(t, x, y, bias), ""), onDisk(x, y, bias)} {
				for _, widen := range []bool{false, true} {
					r := &Reader{Store: s, Pack: Pack{Widen: widen}}
					l := r.Linear(Inner, parts...)
					if err := r.Done(); err != nil {
						t.Fatal(err)
					}
					if got := rowsOf(t, l); l.N != 5 || !slices.Equal(got, want) {
						t.Errorf("%v and %v, widened %v: other weights", a, b, widen)
					}
					if got := outputsOf(t, l); !slices.Equal(got, biases) {
						t.Errorf("%v and %v: the biases %v, want %v", a, b, got, biases)
					}
					// One has a bias and one has none: they stay apart as they are, and
					// not if all are to be one.
					if n := len(l.Parts); n != map[bool]int{false: 2, true: 1}[widen] {
						t.Errorf("%v and %v, widened %v: %d layers", a, b, widen, n)
					}
					kept := func(t gguf.Type) kernel.DType { return dtypes[t] }
					if same := a == b && dtypes[a] != 0; widen && same && l.One().DType() != kept(a) || widen && !same && l.One().DType() != kernel.Float32 {
						t.Errorf("%v and %v are kept as %v", a, b, l.One().DType())
					}
				}
			}
		}
	}
}

// TestOrder: the columns of states are put in an order, as inputs and as outputs, with
// the bias of these.
func TestOrder(t *testing.T) {
	const k = 4
	order := []int{2, 0, 3, 1}
	w, bias := numbersOf(k*k, 3), numbersOf(k, 5)
	for _, kind := range []gguf.Type{gguf.F32, gguf.F16, gguf.BF16} {
		r := &Reader{Store: OfGGUF(ggufOf(t, tensorOf(t, "w.weight", kind, 3, k, k), tensorOf(t, "w.bias", kind, 5, k)), ""), Pack: Pack{Widen: true, Order: order}}
		for _, side := range []Side{Inner, Reads, Writes} {
			l := r.Linear(side, Part{Name: "w", Shape: []int{k, k}, Bias: arch.Present})
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			got, outputs := rowsOf(t, l), outputsOf(t, l)
			for i := range k {
				row := i
				if side == Writes {
					row = order[i]
				}
				if outputs[i] != bias[row] {
					t.Errorf("side %d, %v: bias %d is %v, want %v", side, kind, i, outputs[i], bias[row])
				}
				for j := range k {
					column := j
					if side == Reads {
						column = order[j]
					}
					if got[i*k+j] != w[row*k+column] {
						t.Errorf("side %d, %v: weight %d %d is %v, want %v", side, kind, i, j, got[i*k+j], w[row*k+column])
					}
				}
			}
		}
	}
}

// TestErrors: tensors that do not fit are named, and the first one counts.
func TestErrors(t *testing.T) {
	f := ggufOf(t, tensorOf(t, "x.weight", gguf.F32, 3, 2, 32), tensorOf(t, "x.bias", gguf.F32, 3, 2), gguf.Tensor{Name: "n.weight", Type: gguf.I32, Shape: []int{2}, Data: make([]byte, 8)})
	for _, c := range []struct {
		part             Part
		where, got, want string
	}{
		{Part{Name: "y", Shape: []int{2, 32}}, "f: y.weight", "nothing", "F32, F16, BF16 or blocks [2 32]"},
		{Part{Name: "x", Shape: []int{2, 16}}, "f: x.weight", "F32 [2 32]", "F32, F16, BF16 or blocks [2 16]"},
		{Part{Name: "n", Shape: []int{2}}, "f: n.weight", "I32 [2]", "F32, F16, BF16 or blocks [2]"},
		{Part{Name: "x", Shape: []int{2, 32}}, "f: n.weight", "I32 [2] and 1 more tensors", "only tensors that this architecture is known to have"},
	} {
		r := &Reader{Store: OfGGUF(f, "f")}
		r.Linear(Inner, c.part)
		missing := r.Err()
		first := r.Done()
		if r.Floats("another", 1); missing != nil && r.Err() != missing {
			t.Errorf("%v: then %v", missing, r.Err())
		}
		if bad, ok := errors.AsType[*kernel.Error](first); !ok || bad.Where != c.where || bad.Got != c.got || bad.Want != c.want {
			t.Errorf("%+v: %v", c.part, first)
		}
	}
	if where := OfGGUF(f, "").Where("x"); where != `tensor "x"` {
		t.Errorf("without a path: %s", where)
	}
}

// TestDry: what nothing is read of has the memory that it would take, and all problems
// are noted.
func TestDry(t *testing.T) {
	const k = 64
	f := ggufOf(t, tensorOf(t, "x.weight", gguf.F16, 3, 4, k), tensorOf(t, "y.weight", gguf.Q8_0, 3, 4, k), tensorOf(t, "y.bias", gguf.F32, 3, 4))
	for _, widen := range []bool{false, true} {
		v := &inventory.Inventory{}
		r := &Reader{Store: OfGGUF(f, "f"), Dry: v, Pack: Pack{Widen: widen}}
		l := r.Linear(Inner, Part{Name: "x", Shape: []int{4, k}}, Part{Name: "missing", Shape: []int{4, k}}, Part{Name: "y", Shape: []int{4, k}, Bias: arch.Present})
		r.Floats("x.weight", 5)
		if err := r.Done(); err != nil || l.Parts != nil || len(v.Problems) != 2 {
			t.Errorf("%v, %d layers, problems %v", err, len(l.Parts), v.Problems)
		}
		want := int64(2*4*k + linear.Q8_0.PackedSize(4, k))
		if widen {
			want = 4*2*4*k + 4*8 // as they are one layer, all outputs have a bias
		}
		if v.Memory != want {
			t.Errorf("widened %v: %d bytes, want %d", widen, v.Memory, want)
		}
	}
}

// TestKept: types that package linear has are kept as they are, the others as float32.
func TestKept(t *testing.T) {
	const n, k = 3, 256
	for kind, want := range map[gguf.Type]gguf.Type{gguf.IQ3_S: gguf.IQ3_S, gguf.TQ1_0: gguf.TQ1_0, gguf.IQ4_XS: gguf.IQ4_XS, gguf.IQ1_M: gguf.IQ1_M, gguf.F32: gguf.F32} {
		s, part := OfGGUF(ggufOf(t, tensorOf(t, "x.weight", kind, 3, n, k)), ""), Part{Name: "x", Shape: []int{n, k}}
		l := (&Reader{Store: s}).Linear(Inner, part).One()
		if format, blocks := want.Format(); l.Format() != format && blocks || l.Format() != 0 && !blocks {
			t.Errorf("%v is kept as %v, want %v", kind, l.Format(), want)
		}
	}
}

// TestDrySizes: the memory of blocks is what they take once they are packed, whichever parts are
// joined.
func TestDrySizes(t *testing.T) {
	const n, k = 40, 512
	formats := 0
	for kind := range gguf.Type(64) {
		format, blocks := kind.Format()
		if !blocks {
			continue
		}
		formats++
		zeros := func(name string, kind gguf.Type, shape ...int) gguf.Tensor {
			return gguf.Tensor{Name: name, Type: kind, Shape: shape, Data: make([]byte, kind.Size(inventory.Elements(shape)))}
		}
		s := OfGGUF(ggufOf(t, zeros("x.weight", kind, n, k), zeros("y.weight", kind, 9, k), zeros("z.weight", kind, n, k), zeros("z.bias", gguf.F32, n), zeros("z.scale", gguf.F32, 1)), "")
		v, size := &inventory.Inventory{}, 0
		parts := []Part{{Name: "x", Shape: []int{n, k}}, {Name: "y", Shape: []int{9, k}}, {Name: "z", Shape: []int{n, k}, Bias: arch.Present}}
		(&Reader{Store: s, Dry: v}).Linear(Inner, parts...)
		r := &Reader{Store: s}
		l := r.Linear(Inner, parts...)
		for _, one := range l.Parts {
			size += one.PackedSize()
		}
		if r.Err() != nil || len(l.Parts) != 2 || v.Memory != int64(size) {
			t.Errorf("%v: %d layers of %d bytes, the inventory has %d: %v", format, len(l.Parts), size, v.Memory, r.Err())
		}
	}
	if formats < 20 {
		t.Errorf("%d formats", formats)
	}
}

// TestSplit: several GGUF files have the tensors of one, and the path of a folder says so.
func TestSplit(t *testing.T) {
	w := &ggufwriter.File{}
	for i := range 5 {
		w.Tensors = append(w.Tensors, tensorOf(t, fmt.Sprintf("t%d", i), gguf.F32, i, 3, 32))
	}
	for _, n := range []int{1, 2, 3} {
		s, err := Open(w.Write(t, t.TempDir(), "m", n))
		if err != nil {
			t.Fatal(err)
		}
		r := &Reader{Store: s}
		for i := range 5 {
			if got := r.Floats(fmt.Sprintf("t%d", i), 3, 32); !slices.Equal(got, numbersOf(96, i)) {
				t.Errorf("%d files: tensor %d has other numbers, %v", n, i, r.Err())
			}
		}
		if err := errors.Join(r.Done(), s.Close()); err != nil || len(s.Names()) != 0 {
			t.Errorf("%d files: %v", n, err)
		}
	}
}

// TestForms: folders of safetensors, of both forms of PyTorch and with shards have the
// same tensors, mapped or not.
func TestForms(t *testing.T) {
	folders := []string{"embedder", "binary", "binary-old"}
	var want map[string][]float32
	for _, name := range folders {
		dir := filepath.Join("../../testdata/folders", name)
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]float32{}
		for pass := range 2 {
			r := &Reader{Store: s}
			for _, name := range s.Names() {
				info, _ := s.Info(name)
				x := r.Floats(name, info.Shape...)
				if pass == 1 && !slices.Equal(x, got[name]) {
					t.Errorf("%s: %s has other numbers if it is not mapped", dir, name)
				}
				got[name] = x
				s.tensors[name].data = nil // from now on it is read
			}
			if err := r.Done(); err != nil {
				t.Error(err)
			}
		}
		if want == nil {
			want = got
		}
		if len(got) != len(want) || len(got) == 0 {
			t.Errorf("%s: %d tensors, want %d", dir, len(got), len(want))
		}
		for name, x := range want {
			if !slices.Equal(got[name], x) {
				t.Errorf("%s: %s has other numbers", dir, name)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat("../../testdata/tiny/bge-m3-25/sparse_linear.pt"); err != nil {
		t.Fatal(err)
	}
	s, err := OpenTorch("../../testdata/tiny/bge-m3-25/sparse_linear.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Names(); !slices.Equal(got, []string{"bias", "weight"}) {
		t.Errorf("tensors %q", got)
	}
}

// TestEqual: tensors are equal if they have a type, a shape and bytes.
func TestEqual(t *testing.T) {
	x, y := tensorOf(t, "x", gguf.F32, 3, 2, 40_000), tensorOf(t, "y", gguf.F32, 3, 2, 40_000)
	z := tensorOf(t, "z", gguf.F32, 3, 2, 40_000)
	z.Data[len(z.Data)-1] ^= 1
	for _, s := range []*Store{OfGGUF(ggufOf(t, x, y, z), ""), onDisk(x, y, z)} {
		r := &Reader{Store: s}
		for _, c := range []struct {
			a, b string
			n    int
			want bool
		}{{"x", "y", 2, true}, {"x", "z", 2, false}, {"x", "none", 2, false}, {"x", "y", 1, false}} {
			if got := r.Equal(c.a, c.b, c.n, 40_000); got != c.want {
				t.Errorf("%s and %s of %d rows: %v", c.a, c.b, c.n, got)
			}
		}
	}
}

// TestRenamed: names of GGUF files become names of folders, with the numbers of layers and experts,
// whatever the text model is a part of.
func TestRenamed(t *testing.T) {
	names := map[string]string{
		"output_norm": "model.norm", "output": "lm_head", "blk.%d.q": "model.layers.%d.q_proj", "blk.%d.up.%e": "model.layers.%d.experts.%e.up",
	}
	for _, c := range []struct{ norm, name, want string }{
		{"model.norm.weight", "blk.12.up.7.weight", "model.layers.12.experts.7.up.weight"},
		{"model.norm.weight", "output.weight", "lm_head.weight"},
		{"model.norm.weight", "blk.3.other.bias", "blk.3.other.bias"},
		{"norm.weight", "blk.3.q.bias", "layers.3.q_proj.bias"},
		{"norm.weight", "output.weight", "lm_head.weight"},
		{"none", "blk.3.q.bias", "layers.3.q_proj.bias"},
		{"model.language_model.norm.weight", "blk.3.q.bias", "model.language_model.layers.3.q_proj.bias"},
		{"model.language_model.norm.weight", "output.weight", "lm_head.weight"},
		{"language_model.model.norm.weight", "blk.3.q.bias", "language_model.model.layers.3.q_proj.bias"},
		{"language_model.model.norm.weight", "output.weight", "language_model.lm_head.weight"},
	} {
		tower, projector := tensorOf(t, "vision_tower.x", gguf.F32, 1, 4), tensorOf(t, "model.multi_modal_projector.x", gguf.F32, 1, 4)
		s := OfGGUF(ggufOf(t, tensorOf(t, c.norm, gguf.F32, 1, 4), tower, projector), "")
		if got := s.Renamed(names)(c.name); got != c.want {
			t.Errorf("%s beside %s: %s, want %s", c.name, c.norm, got, c.want)
		}
		s.Use(c.norm)
		if err := s.Unused(); (err == nil) != strings.Contains(c.norm, "language_model") {
			t.Errorf("beside %s: %v", c.norm, err)
		}
	}
}

// TestIgnore: what no result depends on is told by the beginnings of names, as they are
// or behind what they have in front, and by endings.
func TestIgnore(t *testing.T) {
	var all []gguf.Tensor
	for _, name := range []string{"pooler.x", "bert.pooler.y", "other.pooler.z", "a.table", "table.a", "tablet"} {
		all = append(all, tensorOf(t, name, gguf.F32, 1, 4))
	}
	r := &Reader{Store: OfGGUF(ggufOf(t, all...), ""), Rename: func(name string) string { return "bert." + name }}
	r.Ignore("pooler.", ".table")
	var left []string
	for _, name := range r.Names() {
		if !r.tensors[name].used {
			left = append(left, name)
		}
	}
	if want := []string{"other.pooler.z", "table.a", "tablet"}; !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
}
