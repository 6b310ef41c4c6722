// Package results is the documented form of everything that the bench command measures: what
// -json writes, and what tables, pages and comparisons are made of.
//
// A file is one JSON object, a File. All times are in nanoseconds, all rates in GFLOP/s or
// GB/s (1e9 operations or bytes per second), and percentages from 0 to 100. A list that is
// missing was not measured.
package results

import "fmt"

// Schema is the version of the form. A change that an older reader would misunderstand increments
// it. New fields alone do not. Files of earlier versions have some lists more, which are not read.
const Schema = 3

// Format is the value of File.Format in all versions.
const Format = "attn-bench"

// A File is one run of the bench command on one machine.
type File struct {
	Path string `json:"-"` // from which it was read

	Format      string   `json:"format"`                // always Format
	Schema      int      `json:"schema"`                // version of this form
	Contract    int      `json:"contract"`              // version of the numeric contract, kernel.Contract
	Date        string   `json:"date"`                  // when the run began, RFC 3339
	Note        string   `json:"note,omitempty"`        // what else is to be known, by whom measured
	Disturbance string   `json:"disturbance,omitempty"` // what disturbed the run, if the machine does not tell
	Args        []string `json:"args"`                  // flags of the command, but for files and notes
	Quick       bool     `json:"quick,omitempty"`       // fewer shapes, and shorter measurements
	Build       Build    `json:"build"`
	Machine     Machine  `json:"machine"`
	Tiers       []Tier   `json:"tiers"` // best first

	Peaks      []Peak      `json:"peaks,omitempty"`
	Bandwidths []Bandwidth `json:"bandwidths,omitempty"`
	Checks     []Check     `json:"checks,omitempty"`
	Speed      []Speed     `json:"speed,omitempty"`
	Skipped    []string    `json:"skipped,omitempty"` // shapes that the generic tier was not timed on

	Options  []Option   `json:"options,omitempty"`
	Linear   []Linear   `json:"linear,omitempty"`
	Backward []Backward `json:"backward,omitempty"` // gradients of attention
	Decode   []Decode   `json:"decode,omitempty"`
	Groups   []Decode   `json:"groups,omitempty"` // of files of earlier versions; Parse adds them to Decode
	Curves   []Curve    `json:"curves,omitempty"`
	Accuracy *Accuracy  `json:"accuracy,omitempty"`
	Models   []Model    `json:"models,omitempty"`
	Peers    []Peer     `json:"peers,omitempty"`
	NotRun   []string   `json:"not_run,omitempty"` // what was asked for but could not be measured, and why
}

// A Build says which code was measured.
type Build struct {
	Go       string `json:"go"`                 // version of Go, such as go1.26.8
	GOOS     string `json:"goos"`               // operating system
	GOARCH   string `json:"goarch"`             // architecture
	Level    string `json:"level,omitempty"`    // GOAMD64 or GOARM64, such as v1
	Commit   string `json:"commit,omitempty"`   // of the repository, if known
	Modified bool   `json:"modified,omitempty"` // the files differed from the commit
}

// A Machine says what was measured on.
type Machine struct {
	CPU           string   `json:"cpu"`                      // name
	Vendor        string   `json:"vendor,omitempty"`         // of an x86 CPU
	Family        int      `json:"family,omitempty"`         // of an x86 CPU
	Model         int      `json:"model,omitempty"`          // of an x86 CPU
	CPUs          int      `json:"cpus"`                     // that the program may use
	GOMAXPROCS    int      `json:"gomaxprocs"`               // threads of Go code
	Cores         int      `json:"cores,omitempty"`          // physical, as the CPU reports
	HWThreads     int      `json:"hw_threads,omitempty"`     // hardware threads, as the CPU reports
	L1D           int      `json:"l1d,omitempty"`            // bytes of one core's L1 data cache
	L2            int      `json:"l2,omitempty"`             // bytes of one core's L2 cache
	L3            int      `json:"l3,omitempty"`             // bytes of the L3 cache
	Features      []string `json:"features,omitempty"`       // vector features
	Tuned         string   `json:"tuned,omitempty"`          // the CPU whose tuning numbers are used, and the rule that told it
	Off           []string `json:"off,omitempty"`            // features that ATTN_FEATURES switches off
	OS            string   `json:"os,omitempty"`             // release of the operating system's kernel
	Hypervisor    bool     `json:"hypervisor,omitempty"`     // this is a virtual machine
	Governor      string   `json:"governor,omitempty"`       // of the clock frequency, on Linux
	StealPercent  *float64 `json:"steal_percent,omitempty"`  // CPU time taken by other virtual machines while measuring, on Linux
	OthersPercent *float64 `json:"others_percent,omitempty"` // CPU time that other programs took while measuring, on Linux
	Load          *float64 `json:"load,omitempty"`           // load average of the last minute when the run began, on Linux
}

// Name returns the name of the CPU, with family and model, which virtual machines do not hide.
func (m *Machine) Name() string {
	if m.Family == 0 {
		return m.CPU
	}
	return fmt.Sprintf("%s (%s family %d model %d)", m.CPU, m.Vendor, m.Family, m.Model)
}

// Traits says in words what caches the machine has, and what may disturb a measurement.
func (m *Machine) Traits() (list []string) {
	if m.L3 > 0 {
		list = append(list, fmt.Sprintf("L1 %d KiB, L2 %d KiB, L3 %d MiB", m.L1D>>10, m.L2>>10, m.L3>>20))
	}
	if m.Hypervisor {
		list = append(list, "virtual machine")
	}
	if m.Governor != "" {
		list = append(list, "governor "+m.Governor)
	}
	return list
}

// A Tier is an implementation of the kernels.
type Tier struct {
	Name    string `json:"name"`
	Runs    bool   `json:"runs"`
	Default bool   `json:"default,omitempty"`
	Reason  string `json:"reason,omitempty"` // why it cannot run here
}

// State says whether the tier runs.
func (t *Tier) State() string {
	switch {
	case !t.Runs:
		return "cannot run: " + t.Reason
	case t.Default:
		return "runs (default)"
	}
	return "runs"
}

// A Peak is the speed of a loop of independent FMAs.
type Peak struct {
	Vectors string  `json:"vectors"`          // a tier's name, or "scalar Go"
	Threads int     `json:"threads"`          // that ran at the same time
	GFLOPs  float64 `json:"gflops"`           // of all threads together: the median of measurements before, between and after the calls
	Spread  float64 `json:"spread,omitempty"` // their interquartile range, relative to it
}

// A Bandwidth is the speed of a loop that only reads.
type Bandwidth struct {
	Level   string  `json:"level"`            // L1, L2, L3 or memory
	Bytes   int     `json:"bytes"`            // that all threads read together, again and again
	Threads int     `json:"threads"`          // that read at the same time, each its own part
	GBs     float64 `json:"gbs"`              // of all threads together: the median of measurements before, between and after the calls
	Spread  float64 `json:"spread,omitempty"` // their interquartile range, relative to it
}

// Default returns the tier that calls without a named one use, "" if there is none.
func (f *File) Default() string {
	for _, t := range f.Tiers {
		if t.Default {
			return t.Name
		}
	}
	return ""
}

// Peak returns the peak of vectors on a number of threads at once, or zeros if it was not measured.
func (f *File) Peak(vectors string, threads int) Peak {
	for _, p := range f.Peaks {
		if p.Vectors == vectors && p.Threads == threads {
			return p
		}
	}
	return Peak{}
}

// WeakThreads returns those peaks at which n threads are worth less than 0.75·n of one. Peaks that
// varied say nothing about that, nor do peaks of a machine on which others took CPU time.
func (f *File) WeakThreads() (weak []Peak) {
	for _, p := range f.Peaks {
		one := f.Peak(p.Vectors, 1)
		if p.Threads > 1 && p.GFLOPs < 0.75*float64(p.Threads)*one.GFLOPs && max(p.Spread, one.Spread) <= MostSpread && len(f.loads()) == 0 {
			weak = append(weak, p)
		}
	}
	return weak
}

// Failures returns the descriptions of all bits that differed.
func (f *File) Failures() (all []string) {
	for _, c := range f.Checks {
		all = append(all, c.Failures...)
	}
	return all
}
