package results

import "fmt"

// A Verdict says in a few figures how well a machine is used.
type Verdict struct {
	Tier string // that calls use by default

	Prefill        *Speed // the call with the most work on one thread; one with a steady time goes before the others
	PrefillThreads *Speed // the same call on the most threads, nil if on one only

	// The decoding call whose keys and values come from memory, on the most threads.
	DecodeShape   string // "" if none was measured
	DecodeGBs     float64
	DecodeRead    float64 // GB/s of a loop that only reads
	DecodePercent float64
	DecodeDoubt   string // why DecodePercent cannot be relied on, "" if it can
	DecodeThreads int
}

// Verdict sums up a file. Decoding comes from its suite or, if that did not run, from the shape of
// one query.
func (f *File) Verdict() Verdict {
	v := Verdict{Tier: f.Default()}
	for i := range f.Speed {
		s := &f.Speed[i]
		if s.Tier != v.Tier || s.Threads != 1 {
			continue
		}
		if was := v.Prefill; was == nil || was.Unsteady() && !s.Unsteady() || was.Unsteady() == s.Unsteady() && s.Flops > was.Flops {
			v.Prefill = s
		}
	}
	for i := range f.Speed {
		s := &f.Speed[i]
		if v.Prefill != nil && s.Tier == v.Tier && s.Shape == v.Prefill.Shape && s.Threads > 1 && (v.PrefillThreads == nil || s.Threads > v.PrefillThreads.Threads) {
			v.PrefillThreads = s
		}
	}
	for _, d := range f.Decode {
		if d.Level == "memory" && d.Type == "float32" && d.Tier == v.Tier && d.Threads > v.DecodeThreads {
			v.DecodeShape = fmt.Sprintf("%d query heads on %d, %d keys, D %d, float32", d.Group*d.KVHeads, d.KVHeads, d.Keys, d.Size)
			v.DecodeGBs, v.DecodeRead, v.DecodeThreads = d.GBs, d.Read, d.Threads
			v.DecodePercent, v.DecodeDoubt = d.ReadShare(f)
		}
	}
	for _, s := range f.Speed {
		if len(f.Decode) == 0 && s.Alias == "C" && s.Tier == v.Tier && s.Read > 0 && s.Threads > v.DecodeThreads {
			v.DecodeShape, v.DecodeGBs, v.DecodeRead, v.DecodeThreads = s.Shape, s.Bytes/s.Ns, s.Read, s.Threads
			v.DecodePercent, v.DecodeDoubt = s.ReadShare(f)
		}
	}
	return v
}
