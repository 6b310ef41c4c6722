package spec

// A Normer emits the norms.
type Normer interface {
	RMSNorm()
	LayerNorm()
	Means()
	Hadamard()
}

func emitNorms(n Normer) {
	n.RMSNorm()
	n.LayerNorm()
	n.Means()
	n.Hadamard()
}
