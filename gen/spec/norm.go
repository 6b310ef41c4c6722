package spec

// A Normer emits the norms.
type Normer interface {
	RMSNorm()
	LayerNorm()
	Add()
	AddRows()
	Hadamard()
}

func emitNorms(n Normer) {
	n.RMSNorm()
	n.LayerNorm()
	n.Add()
	n.AddRows()
	n.Hadamard()
}
