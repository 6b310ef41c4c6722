package linear

import (
	"unsafe"

	"github.com/attn-go/attn/internal/ukernel"
	"github.com/attn-go/attn/internal/view"
)

// next returns the weights that follow in the order of [scratch.allSteps] on some steps of panel p,
// as they lie, to be prefetched. After the last steps of a group of panels, these are the first ones
// of the panel after it, which belong to the next task.
func (j *job) next(panels interval, p int, steps interval) []byte {
	l := j.linear
	switch {
	case j.isProduct():
		return nil // they are yet to be packed
	case p+1 < panels.hi:
		p++
	case steps.hi < l.k:
		p, steps = panels.lo, interval{steps.hi, min(steps.hi+j.steps, l.k)}
	case panels.hi < l.panels():
		p, steps = panels.hi, interval{0, min(j.steps, l.k)}
	default:
		return nil
	}
	if l.format != 0 {
		return l.stepBlocks(p, steps)
	}
	at, n := l.panelStart(p)+steps.lo*l.panelWidth(p), steps.len()*l.panelWidth(p)
	if l.dtype == view.Float32 {
		return bytesOf(l.f32[at : at+n])
	}
	return bytesOf(l.u16[at : at+n])
}

// stepBlocks returns the blocks of some steps of panel p, in whole blocks.
func (l *Linear) stepBlocks(p int, steps interval) []byte {
	size := l.packed.BlockBytes(l.panelWidth(p))
	return l.panelBlocks(p)[steps.lo/ukernel.BlockSteps*size : steps.hi/ukernel.BlockSteps*size]
}

// bytesOf returns the memory of numbers.
func bytesOf[E float32 | uint16](s []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(E))))
}
