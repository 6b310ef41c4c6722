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

// trusted tells whether a share of a limit can be relied on.
func trusted(percent, spread, most float64) bool {
	return percent > 0 && percent <= most && spread <= MostSpread
}

// Share returns the percentage of the FMA peak, and whether it can be relied on: whether the
// peak hardly varied between the calls, and is not less than what the calls reached.
func (s *Speed) Share() (percent float64, ok bool) {
	return s.Percent, trusted(s.Percent, s.PeakSpread, mostOfPeak)
}

// ReadShare returns the percentage of the bandwidth of a loop that reads the same keys and values,
// and whether it can be relied on. It is 0 if that was not measured.
func (s *Speed) ReadShare() (percent float64, ok bool) {
	if s.Read == 0 || s.Ns == 0 {
		return 0, false
	}
	percent = 100 * s.Bytes / s.Ns / s.Read
	return percent, trusted(percent, s.ReadSpread, mostOfRead)
}

// Share returns the percentage of the limit, and whether it can be relied on.
func (l *Linear) Share() (percent float64, ok bool) {
	most := float64(mostOfPeak)
	switch {
	case l.Limit == LimitRead:
		most = mostOfRead
	case l.Int8:
		most = mostOfInts
	}
	return l.Percent, trusted(l.Percent, l.LimitSpread, most)
}

// Share returns the percentage of the FMA peak, and whether it can be relied on.
func (b *Backward) Share() (percent float64, ok bool) {
	return b.Percent, trusted(b.Percent, b.PeakSpread, mostOfPeak)
}

// ForwardShare returns the percentage of the FMA peak of the forward call, and whether it can be
// relied on.
func (b *Backward) ForwardShare() (percent float64, ok bool) {
	return b.ForwardPercent, trusted(b.ForwardPercent, b.PeakSpread, mostOfPeak)
}

// ReadShare returns the percentage of the bandwidth of reading, and whether it can be relied on.
func (d *Decode) ReadShare() (percent float64, ok bool) {
	return d.ReadPercent, trusted(d.ReadPercent, d.ReadSpread, mostOfRead)
}

// PeakShare returns the percentage of the FMA peak, and whether it can be relied on.
func (d *Decode) PeakShare() (percent float64, ok bool) {
	return d.PeakPercent, trusted(d.PeakPercent, d.PeakSpread, mostOfPeak)
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

// Disturbed says what has disturbed the measurements, in a sentence each. Nothing has if it is empty.
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
