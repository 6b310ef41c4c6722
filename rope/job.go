package rope

import (
	"github.com/attn-go/attn/internal/parallel"
	"github.com/attn-go/attn/internal/rows"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// elementFMAs is how many FMAs of a product take as long as an element. Neighbours are
// rotated in Go.
func (r *Rope) elementFMAs() float64 {
	if r.pairing == Interleaved {
		return 50
	}
	return 8
}

// A job is one call of Apply.
type job struct {
	rope      *Rope
	x         view.Tensor
	positions []int
	tier      *tier.Tier
}

// A scratch holds the cosines and sines of positions that the table does not have as a row, and
// a head that is widened.
type scratch struct {
	numbers []float32
	usage   parallel.Usage
	memory  parallel.Memory
}

var (
	jobs      = parallel.Loop[job, scratch]{Scratch: &scratches, Fit: (*job).fit, Do: (*job).task}
	scratches = parallel.FreeList[scratch]{
		New:    func() *scratch { return new(scratch) },
		Memory: func(s *scratch) *parallel.Memory { return &s.memory },
	}
)

func (j *job) fit(s *scratch) {
	parallel.Fit(&s.memory, &s.usage, &s.numbers, 2*j.rope.Dims(), parallel.Make[float32])
}

// task rotates the tokens lo to hi-1, numbered through all batch rows.
func (j *job) task(s *scratch, lo, hi int) {
	length, n := j.x.Dim(2), j.rope.Dims()
	each := len(j.positions) / j.rope.streams // positions of a section
	for token := lo; token < hi; token++ {
		b, l := token/length, token%length
		at := l
		if each > length {
			at = token
		}
		var row []float32
		if j.rope.sections == nil {
			row = j.rope.row(j.positions[at], s.numbers[:n])
		} else {
			row = j.rope.mixed(j.positions[at:], each, s.numbers[:n])
		}
		if j.x.DType() == view.Float32 {
			j.rotate(b, l, row)
		} else {
			j.rotateHalves(b, l, row, s.numbers[n:2*n])
		}
	}
}

// rotate rotates the heads of a token of float32.
func (j *job) rotate(b, l int, row []float32) {
	heads, half := j.x.Dim(1), len(row)/2
	if j.rope.pairing == Interleaved {
		for h := range heads {
			rotateNeighbours(j.x.Row(b, h, l), row)
		}
		return
	}
	for h := range heads {
		if view.Races {
			j.x.AnnouncePart(view.Write, b, h, l, 0, len(row))
		}
	}
	if heads > 0 {
		at, x := j.x.Index(b, 0, l), j.x.F32()
		j.tier.Elementwise().Rotate(x[at:], x[at+half:], j.x.Stride(1), heads, row[:half], row[half:])
	}
}

// rotateHalves rotates the heads of a token of 16 bits. wide is memory for one that is widened.
func (j *job) rotateHalves(b, l int, row, wide []float32) {
	for h := range j.x.Dim(1) {
		if view.Races {
			j.x.AnnouncePart(view.Write, b, h, l, 0, len(wide))
		}
		at := j.x.Index(b, h, l)
		rows.WidenRow(j.tier, wide, &j.x, at, len(wide))
		if half := len(row) / 2; j.rope.pairing == Interleaved {
			rotateNeighbours(wide, row)
		} else {
			j.tier.Elementwise().Rotate(wide, wide[half:], 0, 1, row[:half], row[half:])
		}
		rows.Store(j.tier, &j.x, at, wide)
	}
}
