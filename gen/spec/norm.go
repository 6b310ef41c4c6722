package spec

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
