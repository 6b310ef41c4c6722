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

// doubt says why a share of a limit cannot be relied on, "" if it can.
func (f *File) doubt(limit string, percent, spread, most float64) string {
	switch {
	case !(percent > 0):
		return limit + " was not measured"
	case f.taken() > MostTaken:
		return fmt.Sprintf("others took %.0f%% of the CPU time", f.taken())
	case !(spread <= MostSpread):
		return fmt.Sprintf("%s varied by %.0f%%", limit, 100*spread)
	case percent > most:
		return "calls reached more than " + limit
	}
	return ""
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

// The limits.
const thePeak, reading = "the peak", "reading"

// Share returns the percentage of the FMA peak, and why it cannot be relied on: "" if it can. So do
// the other methods. The row is of f.
func (s *Speed) Share(f *File) (percent float64, doubt string) {
	return s.Percent, f.doubt(thePeak, s.Percent, s.PeakSpread, mostOfPeak)
}

// ReadShare returns the percentage of the bandwidth of a loop that reads the same keys and values.
// It is 0 if that was not measured.
func (s *Speed) ReadShare(f *File) (percent float64, doubt string) {
	if s.Read == 0 || s.Ns == 0 {
		return 0, f.doubt(reading, 0, 0, 0)
	}
	percent = 100 * s.Bytes / s.Ns / s.Read
	return percent, f.doubt(reading, percent, s.ReadSpread, mostOfRead)
}

// Share returns the percentage of the limit.
func (l *Linear) Share(f *File) (percent float64, doubt string) {
	limit, most := thePeak, float64(mostOfPeak)
	switch {
	case l.Limit == LimitRead:
		limit, most = reading, mostOfRead
	case l.Int8:
		most = mostOfInts
	}
	return l.Percent, f.doubt(limit, l.Percent, l.LimitSpread, most)
}

// Share returns the percentage of the FMA peak.
func (b *Backward) Share(f *File) (percent float64, doubt string) {
	return b.Percent, f.doubt(thePeak, b.Percent, b.PeakSpread, mostOfPeak)
}

// ForwardShare returns the percentage of the FMA peak of the forward call.
func (b *Backward) ForwardShare(f *File) (percent float64, doubt string) {
	return b.ForwardPercent, f.doubt(thePeak, b.ForwardPercent, b.PeakSpread, mostOfPeak)
}

// ReadShare returns the percentage of the bandwidth of reading.
func (d *Decode) ReadShare(f *File) (percent float64, doubt string) {
	return d.ReadPercent, f.doubt(reading, d.ReadPercent, d.ReadSpread, mostOfRead)
}

// PeakShare returns the percentage of the FMA peak.
func (d *Decode) PeakShare(f *File) (percent float64, doubt string) {
	return d.PeakPercent, f.doubt(thePeak, d.PeakPercent, d.PeakSpread, mostOfPeak)
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
	if f.Disturbance != "" {
		reasons = append(reasons, f.Disturbance)
	}
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
