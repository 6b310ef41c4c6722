package ukernel

import "fmt"

// Variants are the kernels of a tier that there are several of. Their results are the same;
// the tier's [Tuning] says which one is the fastest on this CPU. A list is empty if there is
// one kernel, which is then in the table of the others.
type Variants struct {
	QK []QKVariant // SkinnyKernels.QK
	PV []PVVariant // SkinnyKernels.PV

	Weight []WeightVariant // WeightKernels.Gemm, GemmF16 and GemmBF16
}

// A QKVariant is a kernel QK. Segments and Near are those of Tuning.
type QKVariant struct {
	Segments, Near int
	QK             func(s, k []float32, ldk int, q []float32, n, m, d int, max, next []float32, far int)
}

// A PVVariant is a kernel PV.
type PVVariant struct {
	Near int
	PV   func(o []float32, ldo int, v []float32, ldv int, p []float32, ldp, n, m, dv int, load bool, next []float32, far int)
}

// A WeightVariant has the kernels for packed panels of numbers. Prefetch is Tuning.PanelPrefetch.
type WeightVariant struct {
	Prefetch int
	Gemm     func(c []float32, ldc int, a []float32, rs, cs int, b []float32, ldb, m, k int, load bool, next []byte)
	GemmF16  func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, next []byte)
	GemmBF16 func(c []float32, ldc int, a []float32, rs, cs int, b []uint16, ldb, m, k int, load bool, next []byte)
}

func (v QKVariant) String() string { return fmt.Sprintf("S%dL%d", v.Segments, v.Near) }
func (v PVVariant) String() string { return fmt.Sprintf("L%d", v.Near) }

func (v WeightVariant) String() string { return fmt.Sprintf("P%d", v.Prefetch) }

// choose puts the kernels of v into w.
func (v *WeightVariant) choose(w *WeightKernels) {
	w.Gemm, w.GemmF16, w.GemmBF16 = v.Gemm, v.GemmF16, v.GemmBF16
}

// choose sets the kernels that x asks for. It reports whether there are such.
func (k *Kernels) choose(x *Tuning) bool {
	qk, pv, weight := k.Variants.QK == nil, k.Variants.PV == nil, k.Variants.Weight == nil
	for _, v := range k.Variants.QK {
		if v.Segments == x.QKSegments && v.Near == x.QKNear {
			k.Skinny.QK, qk = v.QK, true
		}
	}
	for _, v := range k.Variants.PV {
		if v.Near == x.PVNear {
			k.Skinny.PV, pv = v.PV, true
		}
	}
	for _, v := range k.Variants.Weight {
		if v.Prefetch == x.PanelPrefetch {
			v.choose(&k.Weights)
			weight = true
		}
	}
	return qk && pv && weight
}
