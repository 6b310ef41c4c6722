package tuning

import "strings"

// A Kernel says where a micro-kernel of a tier comes from. A tier is plain Go, on which the kernels of
// instruction sets are laid that this CPU can run.
type Kernel struct {
	Name    string // of the table and the kernel: "Skinny.QK"
	Lanes   int    // of the query tile that it is for, 0 if it is not for one
	Origin  string // the instruction set whose assembly it is, or "Go"; "none" if the tier does without
	Needs   string // the CPU features that the assembly uses, with commas between
	Variant string // which of several kernels with the same results it is, see the numbers above
}

// Kernels lists the micro-kernels of a tier. The default tier is "". If there is no such tier or it
// cannot run, the error is a [*kernel.Error]. A program that calls it contains all kernels.
func Kernels(tier string) ([]Kernel, error) {
	t, err := find("tuning.Kernels", tier)
	if err != nil {
		return nil, err
	}
	list := t.List()
	kernels := make([]Kernel, len(list))
	for i, k := range list {
		origin := k.ISA
		switch {
		case k.None:
			origin = "none"
		case origin == "":
			origin = "Go"
		}
		kernels[i] = Kernel{k.Name, k.Lanes, origin, strings.Join(k.Needs, ","), k.Variant}
	}
	return kernels, nil
}
