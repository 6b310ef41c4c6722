package tensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/littleendian"
)

// Dequantize gives a store of a folder a tensor NAME.weight for each module whose weights are
// quantized, in place of those that have them. Its numbers are float32: a product of a number of
// the file, less its zero point, and a scale, rounded once. Linear packs integers without that. The
// error is a [*kernel.Error] that names a tensor that does not fit, or a module that should not be
// quantized.
func (s *Store) Dequantize(q *arch.Quantization) error {
	found := false
	for _, name := range s.Names() {
		at := strings.LastIndexByte(name, '.')
		kind := name[at+1:]
		if at < 0 || kind != "weight_scale_inv" && kind != "weight_scale" && kind != "qweight" {
			continue
		}
		module := name[:at]
		x := q.Of(module)
		if x == nil || q.Ignored.Has(module) {
			return s.bad(name, fmt.Sprintf("no scales or integers, as quantization_config says that %s is not quantized", module))
		}
		if (kind == "qweight") != (x.Form >= arch.GPTQ) {
			return s.bad(name, "the tensors of "+q.Method)
		}
		if err := s.dequantize(module, kind, x); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return &kernel.Error{Where: "config.json: quantization_config.quant_method", Got: fmt.Sprintf("%q, and no tensors of it", q.Method), Want: "such tensors, or no quantization_config"}
	}
	return nil
}

// dequantize puts one tensor in place of a module's tensors.
func (s *Store) dequantize(module, scale string, x *arch.Scheme) error {
	m := &quantized{Scheme: x, name: module, store: s}
	switch x.Form {
	case arch.Float8, arch.Int8:
		m.codes = m.take("weight", map[bool]string{true: "F8_E4M3", false: "I8"}[x.Form == arch.Float8])
		m.scales = m.take(scale, "F32", "F16", "BF16")
		if m.err == nil {
			m.shape(m.codes.Shape)
		}
		if x.Zeros {
			m.zeros = m.take("weight_zero_point", "I8")
		}
	case arch.Packed:
		m.codes, m.scales = m.take("weight_packed", "I32"), m.take(scale, "F32", "F16", "BF16")
		m.readShape(m.take("weight_shape", "I64", "I32"))
		if x.Zeros {
			m.zeros = m.take("weight_zero_point", "I32")
		}
	default:
		m.codes, m.scales, m.zeros = m.take("qweight", "I32"), m.take("scales", "F32", "F16", "BF16"), m.take("qzeros", "I32")
		if x.Sorted || s.tensors[module+".g_idx"] != nil {
			m.groups = m.take("g_idx", "I32")
		}
		if m.err == nil && len(m.codes.Shape) == 2 {
			k, n := m.codes.Shape[0], m.codes.Shape[1]
			if x.Form == arch.GPTQ {
				k *= 32 / x.Bits
			} else {
				n *= 32 / x.Bits
			}
			m.shape([]int{n, k})
		}
	}
	for _, name := range []string{"input_scale", "input_zero_point", "activation_scale", "output_scale"} {
		delete(s.tensors, module+"."+name) // inputs stay float32
	}
	if m.check(); m.err != nil {
		return m.err
	}
	if plain := module + ".weight"; s.tensors[plain] != nil {
		return s.bad(plain, "nothing beside the integers of "+module)
	}
	name := map[arch.Form]string{arch.Float8: "FP8", arch.Int8: "INT8", arch.Packed: fmt.Sprintf("INT%d", x.Bits), arch.GPTQ: fmt.Sprintf("GPTQ%d", x.Bits), arch.AWQ: "AWQ4"}[x.Form]
	s.tensors[module+".weight"] = &tensor{Info: Info{gguf.F32, name, []int{m.n, m.k}, 4 * int64(m.n) * int64(m.k)}, file: m.codes.file, from: m}
	return nil
}

// A quantized makes weights of the tensors of a module.
type quantized struct {
	*arch.Scheme
	name  string
	store *Store
	n, k  int

	codes, scales, zeros, groups *tensor // zeros and groups are nil if there are none

	grid  []float32      // scales of Float8
	layer *linear.Linear // of integers, once they are read
	room  []byte
	err   error
}

func (m *quantized) key() string {
	return fmt.Sprintf("form=%d bits=%d shared=%dx%d zeros=%v+%d ", m.Form, m.Bits, m.Rows, m.Columns, m.Zeros, m.Offset)
}

// take takes a tensor of any of some types out of the store.
func (m *quantized) take(kind string, types ...string) *tensor {
	name := m.name + "." + kind
	t := m.store.tensors[name]
	if m.err == nil && (t == nil || !slices.Contains(types, t.Name)) {
		m.err = m.store.bad(name, fmt.Sprintf("a tensor of %s beside %s, as quantization_config says", strings.Join(types, " or "), m.name))
	}
	delete(m.store.tensors, name)
	return t
}

// shape sets the sizes.
func (m *quantized) shape(shape []int) {
	if len(shape) == 2 && shape[0] > 0 && shape[1] > 0 {
		m.n, m.k = shape[0], shape[1]
	}
}

// readShape reads the sizes, which are two numbers of a tensor.
func (m *quantized) readShape(t *tensor) {
	if m.err != nil || !slices.Equal(t.Shape, []int{2}) {
		return
	}
	raw, err := t.read(0, t.Bytes, nil)
	if m.err = err; err != nil {
		return
	}
	sizes := [2]int{}
	for i := range sizes {
		var size uint64
		if x := raw[i*len(raw)/2:]; t.Name == "I64" {
			size = binary.LittleEndian.Uint64(x)
		} else {
			size = uint64(binary.LittleEndian.Uint32(x))
		}
		sizes[i] = int(min(size, math.MaxInt32))
	}
	m.shape(sizes[:])
}

// columns is how many inputs share a scale.
func (m *quantized) columns() int {
	if m.Columns == 0 {
		return m.k
	}
	return min(m.Columns, m.k)
}

// check checks the shapes.
func (m *quantized) check() {
	if m.err != nil {
		return
	}
	wrong := func(t *tensor, want string, args ...any) {
		if m.err == nil {
			m.err = &kernel.Error{Where: t.file.path + ": " + m.name, Got: t.String(), Want: fmt.Sprintf(want, args...)}
		}
	}
	if m.n == 0 {
		wrong(m.codes, "a matrix of weights")
		return
	}
	rows, groups := 1, (m.k+m.columns()-1)/m.columns()
	if m.Rows > 0 {
		rows = (m.n + m.Rows - 1) / m.Rows
	}
	size, n := 32/max(1, m.Bits), m.n*groups
	fits := func(t *tensor, shapes ...[]int) bool {
		return slices.ContainsFunc(shapes, func(shape []int) bool { return slices.Equal(t.Shape, shape) })
	}
	switch {
	case m.Form == arch.Packed && (m.k%size != 0 || m.columns()%size != 0 || !fits(m.codes, []int{m.n, m.k / size})):
		wrong(m.codes, "[%d %d/%d] in whole words, by weight_shape", m.n, m.k, size)
	case m.Form < arch.GPTQ && !fits(m.scales, []int{rows, groups}) && !(groups == 1 && fits(m.scales, []int{rows})) && !(rows*groups == 1 && fits(m.scales, []int{})):
		wrong(m.scales, "[%d %d] scales of [%d %d] weights", rows, groups, m.n, m.k)
	case m.Form >= arch.GPTQ && !fits(m.scales, []int{groups, m.n}):
		wrong(m.scales, "[%d %d] scales of [%d %d] weights", groups, m.n, m.n, m.k)
	case m.Form == arch.Packed && m.zeros != nil && (n%(groups*size) != 0 || !fits(m.zeros, []int{m.n / size, groups})):
		wrong(m.zeros, "[%d/%d %d] zero points in whole words", m.n, size, groups)
	case m.Form == arch.Int8 && m.zeros != nil && !fits(m.zeros, m.scales.Shape):
		wrong(m.zeros, "%v, as the scales have it", m.scales.Shape)
	case m.Form >= arch.GPTQ && !fits(m.zeros, []int{groups, m.n / size}):
		wrong(m.zeros, "[%d %d/%d] zero points in whole words", groups, m.n, size)
	case m.groups != nil && !fits(m.groups, []int{m.k}):
		wrong(m.groups, "[%d], the group of each input", m.k)
	}
}

// read returns the bytes of some weights as float32.
func (m *quantized) read(from, to int64, out []byte) ([]byte, error) {
	const size = 4
	at, end := int(from/size), int(to/size)
	out = slices.Grow(out[:0], (end-at)*size)
	if end == m.n*m.k { // most read all of it once, in order
		defer m.release()
	}
	if m.Form == arch.Float8 {
		return m.readFloat8(at, end, out)
	}
	if m.layer == nil {
		l, err := m.pack(nil, kernel.Exec{})
		if err != nil {
			return nil, err
		}
		m.layer = l
	}
	row := make([]float32, m.k)
	for ; at < end; at += m.k - at%m.k {
		if err := m.layer.Rows(linear.DenseMatrix(row, 1, m.k), []int32{int32(at / m.k)}, kernel.Exec{}); err != nil {
			return nil, err
		}
		for _, x := range row[at%m.k : min(m.k, at%m.k+end-at)] {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return out, nil
}

// release lets go of memory that the next call of read would need.
func (m *quantized) release() { m.layer, m.grid, m.room = nil, nil, nil }

// readFloat8 appends numbers of E4M3, multiplied by scales.
func (m *quantized) readFloat8(at, end int, out []byte) ([]byte, error) {
	raw, err := m.codes.read(int64(at), int64(end), m.room)
	if err == nil && m.grid == nil {
		m.grid, err = m.numbers(m.scales)
	}
	if err != nil {
		return nil, err
	}
	if m.codes.data == nil {
		m.room = raw
	}
	columns, rows := m.columns(), m.Rows
	if rows == 0 {
		rows = m.n
	}
	groups := (m.k + columns - 1) / columns
	for i, x := range raw {
		n, k := (at+i)/m.k, (at+i)%m.k
		y := kernel.F8E4M3(x).Float32() * m.grid[n/rows*groups+k/columns]
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(y))
	}
	m.codes.forget(raw)
	return out, nil
}

// numbers returns a tensor's numbers as float32.
func (m *quantized) numbers(t *tensor) ([]float32, error) {
	raw, err := t.read(0, t.Bytes, nil)
	if err != nil {
		return nil, err
	}
	_, size := t.Type.Block()
	x := make([]float32, len(raw)/size)
	return x, t.Type.Widen(x, raw)
}

// memory is about what packed integers take, see linear.FromAffine.
func (m *quantized) memory() int64 {
	bits := int64(32)
	switch half := m.scales.Type == gguf.F16 && m.together(32); {
	case !m.together(16):
	case m.Bits <= 4 && half && m.zeros == nil:
		return int64(m.n) * int64(m.k) * 9 / 16
	case m.Bits <= 4 && half:
		bits = 6
	case m.Bits <= 4:
		bits = 7
	case half && m.zeros == nil:
		return int64(m.n) * int64(m.k) * 17 / 16
	case m.zeros == nil:
		bits = 10
	}
	return int64(m.n) * int64(m.k) * bits / 8
}

// together tells whether each n inputs that are neighbours, a power of two, have one group.
func (m *quantized) together(n int) bool {
	if m.groups == nil {
		return m.columns() == m.k || m.columns()%n == 0
	}
	raw, err := m.groups.read(0, m.groups.Bytes, nil)
	of := littleendian.Append([]int32(nil), raw)
	for i, g := range of {
		if g != of[i&^(n-1)] {
			return false
		}
	}
	return err == nil
}

// pack packs the integers, with a bias or nil.
func (m *quantized) pack(bias []float32, exec kernel.Exec) (*linear.Linear, error) {
	codes, err := m.codes.read(0, m.codes.Bytes, nil)
	if err != nil {
		return nil, err
	}
	scales, err := m.numbers(m.scales)
	if err != nil {
		return nil, err
	}
	columns := m.columns()
	w := &linear.AffineWeights{N: m.n, K: m.k, Bits: m.Bits, GroupSize: columns, Codes: codes}
	groups := (m.k + columns - 1) / columns
	matrix := func(x []float32) linear.Matrix {
		switch {
		case m.Form >= arch.GPTQ:
			return linear.DenseMatrix(x, groups, m.n).T()
		case m.Rows == 0:
			return linear.DenseMatrix(slices.Repeat(x, m.n), m.n, groups)
		}
		return linear.DenseMatrix(x, m.n, groups)
	}
	w.Scales = matrix(scales)
	if err = m.order(w, groups, matrix); err != nil {
		return nil, err
	}
	l, err := linear.FromAffine(w, bias, exec)
	if bad, ok := err.(*kernel.Error); ok {
		err = &kernel.Error{Where: m.codes.file.path + ": " + m.name + ": " + bad.Where, Got: bad.Got, Want: bad.Want}
	}
	m.codes.forget(codes)
	return l, err
}

// order says how codes and zero points lie.
func (m *quantized) order(w *linear.AffineWeights, groups int, matrix func([]float32) linear.Matrix) error {
	zeros, raw := []float32(nil), []byte(nil)
	if m.zeros != nil {
		var err error
		if raw, err = m.zeros.read(0, m.zeros.Bytes, nil); err != nil {
			return err
		}
	}
	switch m.Form {
	case arch.Int8: // with 128 added
		w.Codes = slices.Clone(w.Codes)
		for i := range w.Codes {
			w.Codes[i] ^= 128
		}
		for _, z := range raw {
			zeros = append(zeros, float32(z^128))
		}
	case arch.Packed: // words have the zero points of neighbouring outputs
		w.Packing = linear.ByteRows
		size := 32 / m.Bits
		for i := range m.n * groups {
			if n, g := i/groups, i%groups; raw != nil {
				word := binary.LittleEndian.Uint32(raw[4*(n/size*groups+g):])
				zeros = append(zeros, float32(word>>(n%size*m.Bits)&(1<<m.Bits-1)))
			}
		}
	case arch.GPTQ:
		w.Packing, w.ZeroCodes, w.ZeroOffset = linear.GPTQ, raw, m.Offset
	case arch.AWQ:
		w.Packing, w.ZeroCodes = linear.AWQ, raw
	}
	if zeros != nil {
		w.Zeros = matrix(zeros)
	}
	if m.groups == nil {
		return nil
	}
	raw, err := m.groups.read(0, m.groups.Bytes, nil)
	w.GroupOf = littleendian.Append([]int32(nil), raw)
	return err
}
