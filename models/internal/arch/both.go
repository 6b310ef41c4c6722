package arch

// A Both is attention and a layer of Mamba-2 beside it, which read the same states and whose
// outputs are added.
type Both struct {
	Attention
	Space *StateSpace
}

func (*Both) mixer() {}

// A Factor multiplies rows of a matrix, those after the rows of the factor before it. 0 rows are
// all that are left.
type Factor struct {
	Rows int
	By   float64
}
