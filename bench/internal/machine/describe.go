package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/attn-go/attn/bench/internal/results"
	"github.com/attn-go/attn/internal/tier"
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
	cpu := tier.HostCPU()
	m.Tuned, m.Off = cpu.Name+", "+cpu.Rule, tier.Off
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
	for i := range tier.Tiers {
		t := &tier.Tiers[i]
		lacks := t.Lacks()
		all = append(all, results.Tier{Name: t.Name, Runs: lacks == "", Default: t.Name == kernel.Tier{}.String(), Reason: lacks})
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

// gitCommit returns the commit of the current folder, and whether its files differ. It returns ""
// if the folder is not in this repository.
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
