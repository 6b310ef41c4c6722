package machine

import (
	"strconv"
	"strings"
)

// CPUTimes are ticks that all CPUs have spent since the machine began.
type CPUTimes struct {
	all, stolen, idle float64
	own               float64 // of this process
}

// ReadCPUTimes returns what Linux tells. Elsewhere it returns zeros.
func ReadCPUTimes() CPUTimes { return parseCPUTimes(line("/proc/stat"), line("/proc/self/stat")) }

// parseCPUTimes reads the first line of /proc/stat: "cpu", and then user, nice, system, idle,
// iowait, irq, softirq and steal time. Of /proc/self/stat it reads the 14th and 15th words, user
// and system time; the second one is a name in parentheses, which may have spaces.
func parseCPUTimes(stat, self string) (t CPUTimes) {
	first, _, _ := strings.Cut(stat, "\n")
	words := strings.Fields(first)
	if len(words) < 9 || words[0] != "cpu" {
		return t
	}
	for i, w := range words[1:9] {
		ticks, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return CPUTimes{}
		}
		t.all += ticks
		switch i {
		case 3, 4:
			t.idle += ticks
		case 7:
			t.stolen = ticks
		}
	}
	words = strings.Fields(self[strings.LastIndex(self, ")")+1:])
	if len(words) < 13 {
		return CPUTimes{}
	}
	for _, w := range words[11:13] {
		ticks, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return CPUTimes{}
		}
		t.own += ticks
	}
	return t
}

// StealPercent returns the share of all CPU time since then that other virtual machines took,
// nil if it is unknown.
func (before CPUTimes) StealPercent(now CPUTimes) *float64 {
	return before.percent(now, now.stolen-before.stolen)
}

// OthersPercent returns the share of all CPU time since then that other programs on this machine
// took, nil if it is unknown.
func (before CPUTimes) OthersPercent(now CPUTimes) *float64 {
	busy := func(t CPUTimes) float64 { return t.all - t.idle - t.stolen - t.own }
	return before.percent(now, max(0, busy(now)-busy(before)))
}

func (before CPUTimes) percent(now CPUTimes, ticks float64) *float64 {
	if now.all <= before.all {
		return nil
	}
	percent := 100 * ticks / (now.all - before.all)
	return &percent
}
