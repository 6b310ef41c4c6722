package ukernel

import "fmt"

// Variants are the kernels of a tier that there are several of. Their results are the same;
// the tier's [Tuning] says which one is the fastest on this CPU. A list is empty if there is
// one kernel, which is then in the table of the others.
type Variants struct {
	QK []QKVariant // SkinnyKernels.QK
	PV []PVVariant // SkinnyKernels.PV
}

// A QKVariant is a kernel QK. Near and Keys are those of Tuning.
type QKVariant struct {
	Keys, Segments, Near int
	Kernel               func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int)
}

// A PVVariant is a kernel PV.
type PVVariant struct {
	Near   int
	Kernel func(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, next []float32, far int)
}

func (v QKVariant) String() string { return fmt.Sprintf("%dx%dL%d", v.Keys, v.Segments, v.Near) }
func (v PVVariant) String() string { return fmt.Sprintf("L%d", v.Near) }

// choose sets the kernels that x asks for. It reports whether there are such.
func (k *Kernels) choose(x *Tuning) bool {
	qk, pv := k.Variants.QK == nil, k.Variants.PV == nil
	for _, v := range k.Variants.QK {
		if v.Keys == x.QKKeys && v.Segments == x.QKSegments && v.Near == x.QKNear {
			k.Skinny.QK, qk = v.Kernel, true
		}
	}
	for _, v := range k.Variants.PV {
		if v.Near == x.PVNear {
			k.Skinny.PV, pv = v.Kernel, true
		}
	}
	return qk && pv
}
