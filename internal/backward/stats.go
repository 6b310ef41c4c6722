package backward

import (
	"math"

	"github.com/attn-go/attn/internal/view"
)

var log2E = math.Float32frombits(0x3FB8AA3B)

// statsTensor is that of what the call has been given of a row's softmax: Stats, or LSE.
func (j *Job) statsTensor() *view.Tensor {
	if j.Forward.Stats.IsSet() {
		return &j.Forward.Stats
	}
	return &j.Forward.LSE
}

// rowStats returns what is known of a lane's row.
func (s *scratch) rowStats(j *Job, lane int) []float32 { return s.queryRow(j.statsTensor(), lane) }

// stats returns the numbers of which weights are made, p = exp2(s - max)·inv: of a row of
// Stats, or of one of LSE.
func stats(row []float32) (max, inv float32) {
	if len(row) == 1 {
		return float32(row[0] * log2E), 1
	}
	return row[0], 1 / row[1]
}
