package rows

import (
	"github.com/attn-go/attn/internal/scalar"
	"github.com/attn-go/attn/internal/tier"
)

// Largest returns the largest number of a row, or -Inf. It passes over NaN. The row is cut into
// pieces, which are the rows of a kernel. tops is memory for 16 numbers.
func Largest(t *tier.Tier, row, tops []float32) float32 {
	const (
		pieces  = 16
		atATime = 1 << 15 // elements: assembly cannot be preempted
	)
	top := scalar.NegInf
	for len(row) >= pieces {
		piece := min(len(row), atATime) / pieces
		t.Rows().Largest(tops[:pieces], row, piece, piece)
		top = scalar.Larger(largest(tops[:pieces]), top)
		row = row[pieces*piece:]
	}
	return scalar.Larger(largest(row), top)
}

func largest(x []float32) float32 {
	top := scalar.NegInf
	for _, x := range x {
		if x > top {
			top = x
		}
	}
	return top
}

// SumOfHalves is scalar.SumOfHalves of more chains.
func SumOfHalves(t *tier.Tier, chains []float32) float32 {
	const few = 16
	for ; len(chains) > few; chains = chains[:len(chains)/2] {
		t.Elementwise().Add(chains[:len(chains)/2], chains, chains[len(chains)/2:])
	}
	if len(chains) == few {
		return scalar.SumOfHalves16((*[few]float32)(chains))
	}
	return scalar.SumOfHalves(chains)
}
