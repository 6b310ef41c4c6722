package scoring

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/internal/check"
)

// Dropout has the fields of kernel.Dropout.
type Dropout struct {
	Rate      float32
	Seed      uint64
	Sequences []uint32
}

func (d *Dropout) check(batch int) *check.Failure {
	if !(d.Rate >= 0 && d.Rate < 1) {
		return &check.Failure{Where: "Options.Dropout.Rate", Got: fmt.Sprint(d.Rate), Want: "0 to below 1"}
	}
	if n := len(d.Sequences); d.Sequences != nil && n != batch {
		return &check.Failure{Where: "Options.Dropout.Sequences", Got: fmt.Sprintf("%d numbers", n), Want: fmt.Sprintf("one per batch row: %d", batch)}
	}
	return nil
}

// Sequence returns the number that stands for batch row b in the generator.
func (d *Dropout) Sequence(b int) uint32 {
	if len(d.Sequences) > 0 {
		return d.Sequences[b]
	}
	return uint32(b)
}

// Threshold returns the least random word with which a weight is kept.
func (d *Dropout) Threshold() uint32 { return uint32(math.RoundToEven(float64(d.Rate) * (1 << 32))) }

// Factor returns what the weights that are kept are multiplied by.
func (d *Dropout) Factor() float32 { return float32(1 / (1 - float64(d.Rate))) }
