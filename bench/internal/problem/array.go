package problem

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/attn-go/attn/kernel"
)

// An Array is a contiguous [B, H, L, D] tensor of float32.
type Array struct {
	Data  []float32
	Shape [4]int
}

// NewArray returns an array of zeros.
func NewArray(shape [4]int) Array {
	return Array{make([]float32, shape[0]*shape[1]*shape[2]*shape[3]), shape}
}

// Tensor returns the array as an argument of kernel's functions.
func (a *Array) Tensor() kernel.Tensor {
	return kernel.BHLD(a.Data, a.Shape[0], a.Shape[1], a.Shape[2], a.Shape[3])
}

// Head returns the rows of head h of batch row b.
func (a *Array) Head(b, h int) []float32 {
	n := a.Shape[2] * a.Shape[3]
	at := (b*a.Shape[1] + h) * n
	return a.Data[at : at+n]
}

// SHA256 returns the hash of the bits of all elements, as little-endian float32.
func (a *Array) SHA256() string {
	raw := make([]byte, 0, 4*len(a.Data))
	for _, x := range a.Data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Difference compares the bits of two arrays. It returns how many elements differ and
// describes the first one, or returns "" if all are equal.
func Difference(want, got *Array) string {
	first, n := -1, 0
	for i, w := range want.Data {
		if math.Float32bits(w) != math.Float32bits(got.Data[i]) {
			if n == 0 {
				first = i
			}
			n++
		}
	}
	if n == 0 {
		return ""
	}
	w, x, row := want.Data[first], got.Data[first], first/want.Shape[3]
	return fmt.Sprintf("in %d of %d elements, first at b %d, h %d, i %d, d %d: %#08x (%g) instead of %#08x (%g)",
		n, len(want.Data), row/want.Shape[2]/want.Shape[1], row/want.Shape[2]%want.Shape[1], row%want.Shape[2], first%want.Shape[3], math.Float32bits(x), x, math.Float32bits(w), w)
}
