package results

import (
	"fmt"
	"strings"
)

// What a share of a limit has to fulfil to be told.
const (
	// MostSpread is the largest spread of the measurements of a limit: their interquartile range,
	// relative to their median.
	MostSpread = 0.25

	mostOfPeak = 103 // percent of the FMA peak: nothing is faster than FMAs alone
	mostOfInts = 800 // percent of the FMA peak for sums of integers: instructions that take four products a lane
	mostOfRead = 130 // percent of a loop that only reads, which is not the fastest way to read from all caches
)

// MostTaken is the largest percentage of the CPU time that others may take from a file with shares.
const MostTaken = 20

// trusts tells whether a share of a limit can be relied on: whether the limit hardly varied between
// the calls, is not less than what they reached, and others left them the CPU.
func (f *File) trusts(percent, spread, most float64) bool {
	return percent > 0 && percent <= most && spread <= MostSpread && f.taken() <= MostTaken
}

// taken returns the percentage of the CPU time that other virtual machines and other programs took,
// where it is known.
func (f *File) taken() (percent float64) {
	for _, p := range []*float64{f.Machine.StealPercent, f.Machine.OthersPercent} {
		if p != nil {
			percent += *p
		}
	}
	return percent
}

// Share returns the percentage of the FMA peak, and whether it can be relied on. The row is of f.
func (s *Speed) Share(f *File) (percent float64, ok bool) {
	return s.Percent, f.trusts(s.Percent, s.PeakSpread, mostOfPeak)
}

// ReadShare returns the percentage of the bandwidth of a loop that reads the same keys and values,
// and whether it can be relied on. It is 0 if that was not measured.
func (s *Speed) ReadShare(f *File) (percent float64, ok bool) {
	if s.Read == 0 || s.Ns == 0 {
		return 0, false
	}
	percent = 100 * s.Bytes / s.Ns / s.Read
	return percent, f.trusts(percent, s.ReadSpread, mostOfRead)
}

// Share returns the percentage of the limit, and whether it can be relied on.
func (l *Linear) Share(f *File) (percent float64, ok bool) {
	most := float64(mostOfPeak)
	switch {
	case l.Limit == LimitRead:
		most = mostOfRead
	case l.Int8:
		most = mostOfInts
	}
	return l.Percent, f.trusts(l.Percent, l.LimitSpread, most)
}

// Share returns the percentage of the FMA peak, and whether it can be relied on.
func (b *Backward) Share(f *File) (percent float64, ok bool) {
	return b.Percent, f.trusts(b.Percent, b.PeakSpread, mostOfPeak)
}

// ForwardShare returns the percentage of the FMA peak of the forward call, and whether it can be
// relied on.
func (b *Backward) ForwardShare(f *File) (percent float64, ok bool) {
	return b.ForwardPercent, f.trusts(b.ForwardPercent, b.PeakSpread, mostOfPeak)
}

// ReadShare returns the percentage of the bandwidth of reading, and whether it can be relied on.
func (d *Decode) ReadShare(f *File) (percent float64, ok bool) {
	return d.ReadPercent, f.trusts(d.ReadPercent, d.ReadSpread, mostOfRead)
}

// PeakShare returns the percentage of the FMA peak, and whether it can be relied on.
func (d *Decode) PeakShare(f *File) (percent float64, ok bool) {
	return d.PeakPercent, f.trusts(d.PeakPercent, d.PeakSpread, mostOfPeak)
}

// From these shares of the CPU time on, results are disturbed.
const (
	mostSteal  = 1.0 // percent that other virtual machines took
	mostOthers = 5.0 // percent that other programs took
)

// loads says who has taken CPU time from the measurements.
func (f *File) loads() (reasons []string) {
	m := &f.Machine
	if m.StealPercent != nil && *m.StealPercent >= mostSteal {
		reasons = append(reasons, fmt.Sprintf("other virtual machines took %.1f%% of the CPU time", *m.StealPercent))
	}
	if m.OthersPercent != nil && *m.OthersPercent >= mostOthers {
		reasons = append(reasons, fmt.Sprintf("other programs took %.1f%% of the CPU time", *m.OthersPercent))
	}
	return reasons
}

// Disturbed says what has disturbed the measurements, in a sentence each. Nothing has if it is
// empty.
func (f *File) Disturbed() []string {
	reasons := f.loads()
	var unsteady []string
	for _, p := range f.Peaks {
		if p.Spread > MostSpread {
			unsteady = append(unsteady, fmt.Sprintf("%s on %s by %.0f%%", p.Vectors, Threads(p.Threads), 100*p.Spread))
		}
	}
	if len(unsteady) > 0 {
		reasons = append(reasons, "the FMA peak varied: "+strings.Join(unsteady, ", "))
	}
	return reasons
}

// Threads says a number of threads.
func Threads(n int) string {
	if n == 1 {
		return "one thread"
	}
	return fmt.Sprintf("%d threads", n)
}
