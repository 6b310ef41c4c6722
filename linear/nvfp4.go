package linear

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/kernel"
)

// FromNVFP4 is [FromBlocks] for blocks of [NVFP4] with scales of float32 beside: one for all
// weights, or one for each output. The d of a block is multiplied by that, rounded to float32, and
// then by v, rounded again.
//
// In GGUF files the scale of a tensor is another tensor, whose name ends in scale in place of
// weight. In checkpoints of ModelOpt it is weight_scale_2, and in compressed-tensors
// 1/weight_global_scale; [NVFP4Blocks] makes blocks of their numbers and block scales.
//
// Errors are as for FromBlocks. A scale must be 0, or from 2^-64 to 2^64 in magnitude.
func FromNVFP4(blocks []byte, scales []float32, n, k int, bias []float32, exec kernel.Exec) (*Linear, error) {
	f := checkQuantized(NVFP4, blocks, n, k, bias)
	switch {
	case f != nil && f.Where == "data":
		f.Where = "blocks"
	case f == nil:
		f = checkScales(scales, n)
	}
	return newQuantized("linear.FromNVFP4", f, NVFP4, blocks, scales, n, k, bias, exec)
}

// checkScales reports scales of NVFP4 that do not fit: the product of one and a block's is a normal
// number, and so is every number that kernels make of it.
func checkScales(scales []float32, n int) *check.Failure {
	if len(scales) != 1 && len(scales) != n {
		return &check.Failure{Where: "scales", Got: fmt.Sprintf("%d numbers", len(scales)), Want: fmt.Sprintf("1, or %d, one per output", n)}
	}
	for i, x := range scales {
		if a := math.Abs(float64(x)); x != 0 && !(a >= 0x1p-64 && a <= 0x1p64) {
			return &check.Failure{Where: fmt.Sprintf("scales[%d]", i), Got: fmt.Sprint(x), Want: "0, or 2^-64 to 2^64 in magnitude"}
		}
	}
	return nil
}

// NVFP4Blocks returns weights as blocks of [NVFP4], with as many bytes as it is given, from the
// form in which safetensors have them. A row of K weights, a multiple of 64, has K/2 bytes of
// numbers, with inputs 2i (in the lower half) and 2i+1 in byte i, and K/16 scales as E4M3. Rows
// follow each other.
//
// Bad input is a [*kernel.Error].
func NVFP4Blocks(numbers, scales []byte) ([]byte, error) {
	const perBlock, perScale = 32, 8 // bytes
	if len(numbers)%perBlock != 0 {
		return nil, &kernel.Error{Where: "linear.NVFP4Blocks: numbers", Got: fmt.Sprintf("%d bytes", len(numbers)), Want: fmt.Sprintf("a multiple of %d, for 64 weights", perBlock)}
	}
	if want := len(numbers) / perScale; len(scales) != want {
		return nil, &kernel.Error{Where: "linear.NVFP4Blocks: scales", Got: fmt.Sprintf("%d bytes", len(scales)), Want: fmt.Sprintf("%d, one for each 16 weights", want)}
	}
	blocks := make([]byte, 0, len(numbers)+len(scales))
	for ; len(numbers) > 0; numbers, scales = numbers[perBlock:], scales[perBlock/perScale:] {
		blocks = append(blocks, scales[:perBlock/perScale]...)
		for i := 0; i < perBlock; i += perScale {
			x := binary.LittleEndian.Uint64(numbers[i:])
			for j := range perScale / 2 { // weights 2j, 2j+1 and the same 8 on
				low, high := byte(x>>(8*j)), byte(x>>(8*j+32))
				blocks = append(blocks, low&15|high<<4, low>>4|high&0xf0)
			}
		}
	}
	return blocks, nil
}
