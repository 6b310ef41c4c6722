package tensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/linear"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/arch"
	"github.com/attn-go/attn/models/internal/torchfile"
)

// The files of an adapter as the peft library saves it.
const AdapterConfig, adapterTensors, adapterTorch = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"

// AdapterWeights returns the path of the tensors of an adapter's folder, which need not be there.
func AdapterWeights(dir string) string {
	path := filepath.Join(dir, adapterTensors)
	if _, err := os.Stat(path); err != nil {
		if other := filepath.Join(dir, adapterTorch); exists(other) {
			return other
		}
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// OpenAdapter opens the tensors of an adapter's folder. It reads PyTorch's files as [Open] does.
func OpenAdapter(dir string) (*Store, error) {
	return opened(func(s *Store) error {
		x := format{read: readSafetensors}
		if s.place = AdapterWeights(dir); filepath.Base(s.place) == adapterTorch {
			x.read = torchfile.Read
		}
		return s.openFile(x, s.place, nil)
	})
}

// A LowRank is what an adapter adds to a matrix [outputs, inputs]: Scale times the product of B
// [outputs, rank] and A [rank, inputs]. Package lora says with which bits.
type LowRank struct {
	A, B  []float32
	Rank  int
	Scale float32
	Exec  kernel.Exec // of the products; changes no bit
}

// Merge puts the sum of a matrix and what an adapter adds in its place, as float32. It is computed
// when it is read. The error is a [*kernel.Error] for a tensor that is missing, in blocks, or of
// other sizes.
func (s *Store) Merge(name string, x LowRank) error {
	t := s.tensors[name]
	if t == nil || len(t.Shape) != 2 || x.Rank < 1 || len(x.B) != t.Shape[0]*x.Rank || len(x.A) != x.Rank*t.Shape[1] {
		return s.bad(name, fmt.Sprintf("a matrix [%d, %d], which the adapter changes", len(x.B)/max(1, x.Rank), len(x.A)/max(1, x.Rank)))
	}
	if _, ok := dtypes[t.Type]; !ok {
		return s.bad(name, "F32, F16 or BF16, as the adapter changes it: other weights would be rounded again; merge it before they are quantized")
	}
	bytes := 4 * int64(t.Shape[0]) * int64(t.Shape[1])
	s.tensors[name] = &tensor{Info: Info{gguf.F32, gguf.F32.String(), t.Shape, bytes}, file: t.file, from: &merged{of: t, add: x}}
	return nil
}

// A merged is a matrix that an adapter changes.
type merged struct {
	of  *tensor
	add LowRank

	products []float32
	numbers  piecewise
}

func (m *merged) key() string { return "merged " + m.of.key() } // Adapters stands for what is added

// A piecewise is some numbers of a tensor, in memory that is used again.
type piecewise struct {
	x    []float32
	room []byte
}

// read reads n numbers from one on.
func (p *piecewise) read(t *tensor, at, n int) error {
	_, bytes := t.Type.Block()
	raw, err := t.read(int64(at)*int64(bytes), int64(at+n)*int64(bytes), p.room)
	if err != nil {
		return err
	}
	if p.x = slices.Grow(p.x[:0], n)[:n]; t.data == nil {
		p.room = raw
	}
	defer t.forget(raw)
	return t.Type.Widen(p.x, raw)
}

// Multiply multiplies rows of a matrix by factors, as float32, if there is such a matrix of
// numbers. It is computed when it is read.
func (s *Store) Multiply(name string, by []arch.Factor) {
	t := s.tensors[name]
	if t == nil || len(t.Shape) != 2 {
		return // which whoever asks for it reports
	}
	if _, ok := dtypes[t.Type]; ok {
		s.tensors[name] = &tensor{Info: Info{gguf.F32, t.Name, t.Shape, 4 * int64(t.Shape[0]) * int64(t.Shape[1])}, file: t.file, from: &multiplied{of: t, by: by}}
	}
}

// A multiplied is a matrix with factors of its rows.
type multiplied struct {
	of      *tensor
	by      []arch.Factor
	numbers piecewise
}

func (m *multiplied) key() string { return fmt.Sprintf("times=%v %s", m.by, m.of.key()) }

// factor returns the factor of a row.
func (m *multiplied) factor(row int) float32 {
	for _, f := range m.by {
		if row < f.Rows || f.Rows == 0 {
			return float32(f.By)
		}
		row -= f.Rows
	}
	return 1
}

func (m *multiplied) read(from, to int64, out []byte) ([]byte, error) {
	const size = 4
	at, n, k := int(from/size), int((to-from)/size), m.of.Shape[1]
	if err := m.numbers.read(m.of, at, n); err != nil {
		return nil, err
	}
	out = slices.Grow(out[:0], n*size)
	for i, x := range m.numbers.x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x*m.factor((at+i)/k)))
	}
	return out, nil
}

// read returns the bytes of some numbers, as float32. Of rows that are cut whole products are
// computed.
func (m *merged) read(from, to int64, out []byte) ([]byte, error) {
	const size = 4
	k, r, at, n := m.of.Shape[1], m.add.Rank, int(from/size), int((to-from)/size)
	first, end := at/k, (at+n+k-1)/k
	m.products = slices.Grow(m.products[:0], (end-first)*k)[:(end-first)*k]
	b := linear.DenseMatrix(m.add.B[first*r:end*r], end-first, r)
	err := linear.Product(linear.DenseMatrix(m.products, end-first, k), b, linear.DenseMatrix(m.add.A, r, k).T(), linear.ProductOptions{Exec: m.add.Exec})
	if err != nil {
		return nil, err
	}
	if err := m.numbers.read(m.of, at, n); err != nil {
		return nil, err
	}
	out = slices.Grow(out[:0], n*size)
	for i, p := range m.products[at-first*k:][:n] {
		change := float32(m.add.Scale * p) // rounded, so that no compiler fuses it with the sum
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(m.numbers.x[i]+change))
	}
	return out, nil
}
