package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
	"github.com/klauspost/cpuid/v2"
)

// Describe returns what is known about this machine without measuring.
func Describe() results.Machine {
	c := &cpuid.CPU
	m := results.Machine{
		CPU: CPUName(), CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		Cores: max(c.PhysicalCores, 0), HWThreads: max(c.LogicalCores, 0),
		L1D: max(c.Cache.L1D, 0), L2: max(c.Cache.L2, 0), L3: max(c.Cache.L3, 0),
		Features: SIMDFeatures(), Hypervisor: c.Supports(cpuid.HYPERVISOR),
		OS:       line("/proc/sys/kernel/osrelease"),
		Governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
	}
	if x86 := runtime.GOARCH == "amd64" || runtime.GOARCH == "386"; x86 && c.Family != 0 { // elsewhere the numbers mean other things
		m.Vendor, m.Family, m.Model = c.VendorID.String(), c.Family, c.Model
	}
	if load, err := strconv.ParseFloat(strings.SplitN(line("/proc/loadavg"), " ", 2)[0], 64); err == nil {
		m.Load = &load
	}
	return m
}

// line returns the content of a one-line file, "" if it cannot be read.
func line(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// TierInfos returns all tiers of this architecture.
func TierInfos() []results.Tier {
	var all []results.Tier
	for _, t := range kernel.Tiers() {
		all = append(all, results.Tier{Name: t.Name, Runs: t.Runs, Default: t.Default, Reason: t.Reason})
	}
	return all
}

// Build returns the versions of Go and of the code. go run does not store the commit in the
// program; then git is asked.
func Build() results.Build {
	b := results.Build{Go: runtime.Version(), GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOAMD64", "GOARM64":
			b.Level = s.Value
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Commit == "" {
		b.Commit, b.Modified = gitCommit()
	}
	return b
}

// gitCommit returns the commit of the current folder, and whether its files differ. It returns
// "" if the folder is not one of this repository.
func gitCommit() (commit string, modified bool) {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil || !strings.HasPrefix(line(filepath.Join(strings.TrimSpace(string(top)), "go.mod")), "module github.com/attn-go/attn") {
		return "", false
	}
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false
	}
	status, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	return strings.TrimSpace(string(head)), err != nil || len(status) > 0
}

// CPUTimes are ticks that all CPUs have spent since the machine began.
type CPUTimes struct{ all, stolen float64 }

// ReadCPUTimes returns what Linux tells. Elsewhere it returns zeros.
func ReadCPUTimes() CPUTimes { return parseCPUTimes(line("/proc/stat")) }

// parseCPUTimes reads the first line of /proc/stat: "cpu", and then user, nice, system, idle,
// iowait, irq, softirq and steal time.
func parseCPUTimes(stat string) (t CPUTimes) {
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
		if i == 7 {
			t.stolen = ticks
		}
	}
	return t
}

// StealPercent returns the share of all CPU time since then that other virtual machines took,
// nil if it is unknown.
func (before CPUTimes) StealPercent(now CPUTimes) *float64 {
	if now.all <= before.all {
		return nil
	}
	percent := 100 * (now.stolen - before.stolen) / (now.all - before.all)
	return &percent
}

// Peaks measures the FMA peak of each kind of vectors on each number of threads at once.
func Peaks(ps Probes, threads []int) []results.Peak {
	var all []results.Peak
	for _, p := range ps {
		for _, n := range threads {
			all = append(all, results.Peak{Vectors: p.Name, Threads: n, GFLOPs: p.Peak(n)})
		}
	}
	return all
}

// Bandwidths measures reading from each level on each number of threads at once. L1 and L2 are
// those of each thread's own core; L3 and memory are shared.
func Bandwidths(threads []int) []results.Bandwidth {
	l2, l3 := CacheSizes()
	l1 := cpuid.CPU.Cache.L1D
	if l1 <= 0 {
		l1 = 32 << 10
	}
	var all []results.Bandwidth
	memory := numbers.Huge(MemoryBytes() / 4)
	for _, level := range []struct {
		name  string
		bytes int
		own   bool
	}{{"L1", l1 / 2, true}, {"L2", l2 / 2, true}, {"L3", l3 / 4, false}, {"memory", MemoryBytes(), false}} {
		for _, n := range threads {
			bytes := level.bytes
			if level.own {
				bytes = min(bytes*n, MemoryBytes())
			}
			all = append(all, results.Bandwidth{Level: level.name, Bytes: bytes, Threads: n, GBs: bandwidth(memory[:bytes/4], n)})
		}
	}
	return all
}

// bandwidth returns the median rate of reading the data, of which each sample reads 64 MB or
// more. The first sample brings the data into the caches.
func bandwidth(data []float32, threads int) float64 {
	const samples, least = 7, 16 << 20
	r := NewReader(data)
	var rates []float64
	for range samples + 1 {
		rates = append(rates, r.Rate(max(1, least/len(data)), threads))
	}
	return stats.Median(rates[1:])
}
