package kernel

import "math"

// drop drops weights of the block at hand.
func (w *workspace) drop(j *job, p *panel) {
	lanes := p.kern.lanes
	start := each(j.queryStart, p.unit.b)
	p.eachLane(j, func(lane, head, i int) {
		w.heads[lane] = uint32(head)
		w.places[lane] = uint32(start + i)
	})
	p.kern.dropout(p.s, lanes, p.start+p.keys.lo, p.keys.len(), j.philox[:], j.dropout.sequence(p.unit.b),
		w.heads[:lanes], w.places[:lanes], j.dropout.threshold(), j.dropout.scale())
}

// sequence is the number that stands for batch row b in the generator.
func (d *Dropout) sequence(b int) uint32 {
	if len(d.Sequences) > 0 {
		return d.Sequences[b]
	}
	return uint32(b)
}

// threshold is the word of the generator from which on a weight is kept.
func (d *Dropout) threshold() uint32 { return uint32(math.RoundToEven(float64(d.Rate) * (1 << 32))) }

// scale is what kept weights are multiplied by.
func (d *Dropout) scale() float32 { return float32(1 / (1 - float64(d.Rate))) }
