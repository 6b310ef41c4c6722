package linear

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unsafe"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/hugepages"
	"github.com/attn-go/attn/internal/ints"
	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
	"github.com/attn-go/attn/kernel"
)

// The packed form of a layer as bytes, all numbers little-endian:
//
//	 0  the 8 bytes "attnlin\x00"
//	 8  uint32  version, 7: panels of 48 lanes, the last one as narrow as steps of 16 allow
//	12  uint32  weights: 0 float32, 1 float16, 2 bfloat16, 8 RoundBFloat16, 16 + Format
//	16  uint64  outputs N
//	24  uint64  inputs K
//	32  uint32  the ukernel.PackedFormat of quantized weights, else 0
//	36  zeros
//	60  uint32  CRC-32 (IEEE) of the first 60 bytes
//	64  bias, a float32 for every lane, then zeros up to a multiple of 64
//	    the panels
const (
	packedMagic     = "attnlin\x00"
	packedAlignment = 64 // of the parts, and the size of the header
	packedRounded   = 8  // of RoundBFloat16
	packedFormats   = 16 // of quantized weights is so much more than their Format
)

// PackedVersion is the version of what [Linear.WriteTo] writes, the only one that
// [FromPacked] reads. Version 6 took 8.5 bits for a weight of IQ4_NL.
const PackedVersion = 7

// WriteTo writes the packed form of the layer, PackedSize bytes, for [FromPacked]. A program
// that keeps it in a file need not pack the weights each time that it starts.
//
// The packed form is a cache, not a format to publish weights in: they lie as kernels read them, so
// a version of this module may change it, and [PackedVersion] with it. Keep the weights that the
// layer was made of, and pack them again if FromPacked returns an error. The bytes depend on the
// layer alone, not on the CPU or the tier: machines may share a file.
//
// It returns the number of bytes that w took. Errors are the errors of w, and [io.ErrShortWrite] if
// w takes less and returns none; a nil w is a [*kernel.Error].
func (l *Linear) WriteTo(w io.Writer) (int64, error) {
	if w == nil {
		return 0, &kernel.Error{Where: "linear.Linear.WriteTo: w", Got: "nil", Want: "a writer"}
	}
	p := &packedWriter{w: w, buf: l.header()}
	for _, x := range l.bias {
		p.uint32(math.Float32bits(x))
	}
	for range l.panelsAt()/4 - packedAlignment/4 - len(l.bias) {
		p.uint32(0)
	}
	for _, x := range l.f32 {
		p.uint32(math.Float32bits(x))
	}
	for _, x := range l.u16 {
		p.buf = binary.LittleEndian.AppendUint16(p.buf, x)
		p.flush(packedBuffer)
	}
	for _, x := range l.pairs {
		p.uint32(x)
	}
	p.flush(0)
	if len(l.blocks) > 0 {
		p.buf = l.blocks
		p.flush(0)
	}
	return p.written, p.err
}

// PackedSize returns the number of bytes that WriteTo writes.
func (l *Linear) PackedSize() int { return l.panelsAt() + l.panelBytes() }

// PackedSize returns what [Linear.PackedSize] is of a layer of [FromBlocks] with n outputs and k
// inputs, or of [QuantizeInt8] for Q8_0. It is 0 if there is no such layer: k does not fit the
// blocks, f is none of the formats, or the size is more than an int. Memory takes about as much.
func (f Format) PackedSize(n, k int) int {
	row := f.row()
	if row == nil || n < 0 || k <= 0 || !f.mayHaveTail() && k%row.Weights != 0 {
		return 0
	}
	l := &Linear{n: n, k: k, format: f, packed: row.Packed}
	if !l.fitsInt() {
		return 0
	}
	return l.PackedSize()
}

// fitsInt tells whether PackedSize does not overflow. It does not if 4 bytes for each weight, which
// is the most that one takes, do not.
func (l *Linear) fitsInt() bool {
	return l.n <= math.MaxInt/64 && l.k <= math.MaxInt/64 && ints.MulSat(ints.MulSat(l.lanes(), l.depth()), 4) < math.MaxInt
}

// panelsAt is where the panels begin.
func (l *Linear) panelsAt() int {
	bias := ints.RoundUp(4*l.lanes(), packedAlignment)
	return packedAlignment + bias
}

// panelBytes is the size of the panels.
func (l *Linear) panelBytes() int {
	if l.format != 0 {
		return l.blockBytes(l.lanes())
	}
	return l.lanes() * l.depth() * l.dtype.Size()
}

func (l *Linear) header() []byte {
	h := append(make([]byte, 0, packedBuffer+packedAlignment), packedMagic...)
	h = binary.LittleEndian.AppendUint32(h, PackedVersion)
	typ := uint32(l.dtype)
	switch {
	case l.format != 0:
		typ = packedFormats + uint32(l.format)
	case l.rounds:
		typ = packedRounded
	}
	h = binary.LittleEndian.AppendUint32(h, typ)
	h = binary.LittleEndian.AppendUint64(h, uint64(l.n))
	h = binary.LittleEndian.AppendUint64(h, uint64(l.k))
	h = binary.LittleEndian.AppendUint32(h, uint32(l.packed))
	h = append(h, make([]byte, packedAlignment-4-len(h))...)
	return binary.LittleEndian.AppendUint32(h, crc32.ChecksumIEEE(h))
}

// A packedWriter writes numbers through a buffer.
type packedWriter struct {
	w       io.Writer
	buf     []byte
	written int64
	err     error
}

const packedBuffer = 1 << 16

func (p *packedWriter) uint32(x uint32) {
	p.buf = binary.LittleEndian.AppendUint32(p.buf, x)
	p.flush(packedBuffer)
}

// flush writes the buffer if it has at least so many bytes.
func (p *packedWriter) flush(least int) {
	if len(p.buf) < least {
		return
	}
	if p.err == nil {
		var n int
		if n, p.err = p.w.Write(p.buf); n < len(p.buf) && p.err == nil {
			p.err = io.ErrShortWrite
		}
		p.written += int64(n)
	}
	p.buf = p.buf[:0]
}

// FromPacked returns the layer whose packed form, see [Linear.WriteTo], is data, such as a
// file that is mapped. The layer uses it in place: data must neither change nor be unmapped as
// long as the layer is used. Only on a big-endian machine, or if data does not begin at a
// multiple of 4 bytes, weights that are not quantized are copied.
//
// The header of data is checked, the weights are not: changed weights give other results and
// do no other harm. Data that is no packed form, of another [PackedVersion] or another length, is a
// [*kernel.Error]. So are, of the kind [kernel.ErrMemory], weights that must be copied and do
// not fit memory or the memory limit of the program (GOMEMLIMIT).
func FromPacked(data []byte) (*Linear, error) {
	l, f := parsePacked(data)
	if f != nil {
		return nil, (*kernel.Error)(f.In("linear.FromPacked"))
	}
	bias, panels := data[packedAlignment:][:4*l.lanes()], data[l.panelsAt():]
	float := func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	half := func(b []byte) kernel.F16 { return kernel.F16(binary.LittleEndian.Uint16(b)) }
	fits := true
	switch l.bias = numbers(bias, float, &fits); {
	case l.format != 0:
		l.blocks = panels
	case l.rounds:
		l.pairs = words(numbers(panels, float, &fits))
	case l.dtype == view.Float32:
		l.f32 = numbers(panels, float, &fits)
	default:
		l.u16 = halves(numbers(panels, half, &fits))
	}
	if !fits {
		f := check.TooLarge("data", fmt.Sprintf("%d bytes, which must be copied", len(data)))
		return nil, (*kernel.Error)(f.In("linear.FromPacked"))
	}
	l.mapped = true
	return l, nil
}

// parsePacked returns the layer that the header describes, without its numbers.
func parsePacked(data []byte) (*Linear, *check.Failure) {
	switch {
	case len(data) < packedAlignment:
		return nil, packedFailure("%d bytes", len(data))
	case string(data[:len(packedMagic)]) != packedMagic:
		return nil, packedFailure("bytes that begin with %q", data[:len(packedMagic)])
	case crc32.ChecksumIEEE(data[:packedAlignment-4]) != binary.LittleEndian.Uint32(data[packedAlignment-4:]):
		return nil, packedFailure("a header whose checksum is wrong")
	}
	u := binary.LittleEndian
	if v := u.Uint32(data[8:]); v != PackedVersion {
		return nil, packedFailure("version %d", v)
	}
	typ, n, k := u.Uint32(data[12:]), u.Uint64(data[16:]), u.Uint64(data[24:])
	l := new(Linear)
	switch format := Format(int64(typ) - packedFormats); {
	case typ < ukernel.Elements && view.DType(typ).IsFloat():
		l.dtype = view.DType(typ)
	case typ == packedRounded:
		l.dtype, l.rounds = view.BFloat16, true
	case format.isValid() || format == Affine:
		l.format = format
	default:
		return nil, packedFailure("weights of type %d", typ)
	}
	packed := u.Uint32(data[32:])
	l.packed = ukernel.PackedFormat(packed % ukernel.PackedFormats)
	if uint32(l.packed) != packed || l.format != 0 && !l.format.packedAs(l.packed) || l.format == 0 && packed != 0 {
		return nil, packedFailure("panels of format %d for weights of type %d", packed, typ)
	}
	if n > math.MaxInt/64 || k > math.MaxInt/64 || l.format != 0 && (k == 0 || !l.format.mayHaveTail() && k%uint64(l.format.row().Weights) != 0) {
		return nil, packedFailure("%d outputs and %d inputs", n, k)
	}
	l.n, l.k = int(n), int(k)
	if !l.fitsInt() || l.PackedSize() != len(data) {
		return nil, packedFailure("%d bytes for %d outputs and %d inputs", len(data), n, k)
	}
	return l, nil
}

func packedFailure(got string, args ...any) *check.Failure {
	return &check.Failure{Where: "data", Got: fmt.Sprintf(got, args...), Want: fmt.Sprintf("what Linear.WriteTo writes, version %d", PackedVersion)}
}

// numbers returns the numbers in data: in place if they lie there as in memory, else copied
// by number. If the copy does not fit memory, it makes fits false.
func numbers[E kernel.Float](data []byte, number func(b []byte) E, fits *bool) []E {
	if x, err := kernel.FromBytes[E](data); err == nil {
		return x
	}
	if !hugepages.Fits(len(data), 1) {
		*fits = false
		return nil
	}
	size := int(unsafe.Sizeof(*new(E)))
	x := hugepages.Share[E](len(data) / size)
	for i := range x {
		x[i] = number(data[i*size:])
	}
	return x
}
