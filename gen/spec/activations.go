package spec

// An Activator emits the activations.
type Activator interface {
	SiLU()
	GELU()
	GELUTanh()
	SwiGLU()
	GeGLU()
	GeGLUTanh()
	GRU()
	GRUBackward()
}

func emitActivations(a Activator) {
	a.SiLU()
	a.GELU()
	a.GELUTanh()
	a.SwiGLU()
	a.GeGLU()
	a.GeGLUTanh()
	a.GRU()
	a.GRUBackward()
}
