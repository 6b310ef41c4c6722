package spec

import (
	"math/bits"

	"github.com/attn-go/attn/internal/ukernel"
)

// An Element is a type of the numbers of an operand: B of WeightGemm, K of SkinnyQK, V of
// SkinnyPV.
type Element ukernel.Element

const (
	Float32 = Element(ukernel.Float32)
	F16     = Element(ukernel.Float16)
	BF16    = Element(ukernel.BFloat16)
	Int8    = Element(ukernel.Int8)
	E4M3    = Element(ukernel.Float8E4M3)
	E5M2    = Element(ukernel.Float8E5M2)
	Int4    = Element(ukernel.Int4)

	// BF16Pairs are words of two bfloat16: a row of B has a word for two steps.
	BF16Pairs = Element(ukernel.Elements)
)

// String is the name of the type's constant in package ukernel.
func (b Element) String() string {
	return [...]string{"Float32", "Float16", "BFloat16", "Int8", "Float8E4M3", "Float8E5M2", "Int4"}[b]
}

// Bytes returns the bytes of n numbers.
func (b Element) Bytes(n int) int { return ukernel.Element(b).Bytes(n) }

// PerWord is how many numbers 32 bits hold.
func (b Element) PerWord() int { return 32 / b.Bytes(8) }

// IsScaled tells whether numbers are multiplied by scales.
func (b Element) IsScaled() bool { return ukernel.Element(b).IsScaled() }

// IsFloat8 tells whether a number has 8 bits with an exponent.
func (b Element) IsFloat8() bool { return b == E4M3 || b == E5M2 }

// Shift is log2 of the bytes of a number, -1 for half a byte.
func (b Element) Shift() int {
	if b == BF16Pairs {
		return 2
	}
	return bits.Len(uint(ukernel.Element(b).Size())) - 1
}

// A NarrowFloat has the numbers that narrowing to a type takes, as float32 bits unless they are
// counts.
type NarrowFloat struct {
	Drop    int    // bits of a float32's fraction that the type lacks
	Largest uint32 // number, or what its infinity would be as one
	Normal  uint32 // the smallest normal number
	NaN     uint32 // what its code would be without a NaN and infinity: a number beyond the largest
}

// NarrowFloat returns the numbers of F16, E4M3 or E5M2.
func (b Element) NarrowFloat() NarrowFloat {
	return map[Element]NarrowFloat{F16: {13, 0x47800000, 0x38800000, 0x47c00000}, E4M3: {20, 0x43e00000, 0x3c800000, 0x43f00000}, E5M2: {21, 0x47600000, 0x38800000, 0x47c00000}}[b]
}

// Suffix names the type in a function's name.
func (b Element) Suffix() string {
	return [...]string{"", "F16", "BF16", "Int8", "F8E4M3", "F8E5M2", "Int4", "Pairs"}[b]
}
