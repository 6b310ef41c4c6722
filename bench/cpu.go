package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/attn-go/attn/kernel"
	"github.com/klauspost/cpuid/v2"
)

// cpuName is the CPU's own name or, where it has none, what the system says.
func cpuName() string {
	if name := strings.Join(strings.Fields(cpuid.CPU.BrandName), " "); name != "" {
		return name
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if name := nameInCPUInfo(string(info)); name != "" {
			return name
		}
	}
	return "unknown " + runtime.GOARCH
}

// cpuModel is the family and model of an x86 CPU: clouds hide the name.
func cpuModel() string {
	if cpuid.CPU.Family == 0 {
		return ""
	}
	return fmt.Sprintf(" (%v family %d model %d)", cpuid.CPU.VendorID, cpuid.CPU.Family, cpuid.CPU.Model)
}

// nameInCPUInfo finds a name in Linux's description of the CPUs.
func nameInCPUInfo(info string) string {
	for line := range strings.Lines(info) {
		key, value, ok := strings.Cut(line, ":")
		switch key = strings.ToLower(strings.TrimSpace(key)); key {
		case "model name", "cpu model", "cpu", "uarch":
			if value = strings.Join(strings.Fields(value), " "); ok && value != "" {
				return value
			}
		}
	}
	return ""
}

// simdPrefixes begin the names of the features that matter to kernels.
var simdPrefixes = []string{"SSE4", "AVX", "FMA3", "F16C", "VAES", "AMX", "ASIMD", "FPHP", "SVE", "SME", "BF16", "I8MM"}

// simdFeatures returns the CPU's vector features.
func simdFeatures() []string {
	var found []string
	for _, f := range cpuid.CPU.FeatureSet() {
		for _, p := range simdPrefixes {
			if strings.HasPrefix(f, p) {
				found = append(found, f)
				break
			}
		}
	}
	if len(found) == 0 {
		return []string{"none that is known"}
	}
	return found
}

// describeMachine prints the CPU, its features and the tiers.
func describeMachine(w io.Writer) {
	fmt.Fprintf(w, "attn    contract %d, %s %s/%s\n", kernel.Contract, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(w, "CPU     %s%s\n", cpuName(), cpuModel())
	fmt.Fprintf(w, "cores   %s\n", cores())
	fmt.Fprintf(w, "SIMD    %s\n", wrap(simdFeatures(), 100, "        "))
	for i, t := range kernel.Tiers() {
		title := "tiers "
		if i > 0 {
			title = "      "
		}
		fmt.Fprintf(w, "%s  %-8s %s\n", title, t.Name, tierState(t))
	}
	if err := defaultError(); err != nil {
		fmt.Fprintf(w, "        calls that name no tier fail: %v\n", err)
	}
}

// defaultError is why calls that name no tier fail, if they do: ATTN_TIER names
// one that cannot run.
func defaultError() error {
	one := func() kernel.Tensor { return kernel.BHLD(make([]float32, 1), 1, 1, 1, 1) }
	return kernel.Attention(one(), one(), one(), one(), kernel.Options{})
}

func cores() string {
	s := fmt.Sprintf("%d CPUs, GOMAXPROCS %d", runtime.NumCPU(), runtime.GOMAXPROCS(0))
	if p, l := cpuid.CPU.PhysicalCores, cpuid.CPU.LogicalCores; p > 0 && l > 0 {
		s += fmt.Sprintf("; the CPU reports %d cores, %d threads", p, l)
	}
	return s
}

func tierState(t kernel.TierInfo) string {
	switch {
	case !t.Runs:
		return "cannot run: " + t.Reason
	case t.Default:
		return "runs (default)"
	}
	return "runs"
}

// wrap joins words with spaces to lines of about width, the later ones indented.
func wrap(words []string, width int, indent string) string {
	var b strings.Builder
	line := 0
	for i, word := range words {
		switch {
		case i == 0:
		case line+1+len(word) > width:
			b.WriteString("\n" + indent)
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}
