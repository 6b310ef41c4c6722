package results

import "fmt"

// A Verdict says in a few figures how well a machine is used.
type Verdict struct {
	Tier string // that calls use by default

	// The call with the most work on one thread: its share of the FMA peak.
	Prefill        *Speed
	PrefillThreads *Speed // the same call on the most threads, nil if on one only

	// The decoding call whose keys and values come from memory, on the most threads: its share of
	// the bandwidth, and where that comes from.
	DecodeShape   string
	DecodeGBs     float64
	DecodeRead    float64 // GB/s of a loop that only reads
	DecodePercent float64
	DecodeTrusted bool // whether DecodePercent can be relied on
	DecodeThreads int
}

// Verdict sums up a file.
func (f *File) Verdict() Verdict {
	v := Verdict{Tier: f.Default()}
	for i := range f.Speed {
		s := &f.Speed[i]
		switch {
		case s.Tier != v.Tier:
		case s.Threads == 1 && (v.Prefill == nil || s.Flops > v.Prefill.Flops):
			v.Prefill = s
		}
	}
	for i := range f.Speed {
		s := &f.Speed[i]
		if v.Prefill != nil && s.Tier == v.Tier && s.Shape == v.Prefill.Shape && s.Threads > 1 && (v.PrefillThreads == nil || s.Threads > v.PrefillThreads.Threads) {
			v.PrefillThreads = s
		}
	}
	v.decode(f)
	return v
}

// decode finds the decoding figures: those of the decoding suite or, if that did not run, of the
// shape of one query beside that of reading its keys and values or, in files of earlier versions, beside
// the bandwidth of memory.
func (v *Verdict) decode(f *File) {
	for _, d := range f.Decode {
		if d.Level == "memory" && d.Type == "float32" && d.Tier == v.Tier && d.Threads > v.DecodeThreads {
			v.DecodeShape = fmt.Sprintf("%d query heads on %d, %d keys, D %d, float32", d.Group*d.KVHeads, d.KVHeads, d.Keys, d.Size)
			v.DecodeGBs, v.DecodeRead, v.DecodeThreads = d.GBs, d.Read, d.Threads
			v.DecodePercent, v.DecodeTrusted = d.ReadShare()
		}
	}
	if v.DecodeThreads > 0 {
		return
	}
	for _, s := range f.Speed {
		if s.Alias != "C" || s.Tier != v.Tier || s.Threads < v.DecodeThreads {
			continue
		}
		if s.Read > 0 {
			v.DecodeShape, v.DecodeGBs, v.DecodeRead, v.DecodeThreads = s.Shape, s.Bytes/s.Ns, s.Read, s.Threads
			v.DecodePercent, v.DecodeTrusted = s.ReadShare()
			continue
		}
		for _, b := range f.Bandwidths {
			level := "memory"
			if s.Bytes < float64(f.Machine.L3) {
				level = "L3"
			}
			if b.Level == level && b.Threads == s.Threads {
				gbs := s.Bytes / s.Ns
				v.DecodeShape, v.DecodeGBs, v.DecodeRead, v.DecodePercent, v.DecodeThreads = s.Shape, gbs, b.GBs, 100*gbs/b.GBs, s.Threads
				v.DecodeTrusted = trusted(v.DecodePercent, b.Spread, mostOfRead)
			}
		}
	}
}
