package spec

// NormChains is the number of chains in which norms sum up the elements of a row.
const NormChains = 64

// The norms of rows.
var (
	RMSNorm = Function{NormTable, "RMSNorm", "(dst []float32, ldd int, src []float32, lds, n int, weight []float32, size, eps float32)",
		"normalises n rows of src, len(weight) elements each, by the root of the mean of their squares, and multiplies them by weight. size is len(weight)."}
	LayerNorm = Function{NormTable, "LayerNorm", "(dst []float32, ldd int, src []float32, lds, n int, weight, bias []float32, size, eps float32)",
		"normalises n rows of src, len(weight) elements each, to mean 0 and variance 1, multiplies them by weight and adds bias. size is len(weight)."}
	Add = Function{NormTable, "Add", "(dst, x, y []float32)",
		"computes dst = x + y for len(dst) elements. dst may be x or y."}
	AddRows = Function{NormTable, "AddRows", "(dst, src []float32, lds, n int)",
		"adds n ≥ 1 rows of src, len(dst) elements each, to dst, one after the other."}
)

// A Normer emits the norms.
type Normer interface {
	RMSNorm()
	LayerNorm()
	Add()
	AddRows()
}

func emitNorms(n Normer) {
	n.RMSNorm()
	n.LayerNorm()
	n.Add()
	n.AddRows()
}
