package main

// accuracyShapes are measured on unit-normal input, accuracyFlops bounds the
// work on the sampled rows of each.
var accuracyShapes = []string{"A", "B", "D", "E"}

const (
	accuracyFlops = 2.5e8
	sampleRows    = 16
)

// What fixed order costs on unit-normal input, as the contract says.
const (
	expectedMax = 1e-6
	expectedRMS = 6e-8
)

// accuracy is the error of one shape against float64, on sampled rows.
type accuracy struct {
	shape string
	err   errorSum
	rows  int
	of    int
}

// measureAccuracy computes runs of rows spread evenly over all heads and
// positions, each run by a call of its own: a row's bits do not depend on the
// rows around it.
func measureAccuracy(s *shape, tier string) (accuracy, error) {
	g := s.group()
	a := accuracy{shape: s.name, of: g.heads() * g.lq()}
	runs := a.of / sampleRows
	want := min(runs, max(1, int(accuracyFlops/g.flops()*float64(runs))))
	for x := range want {
		at := x * runs / want * sampleRows
		if err := a.sample(g, at/g.lq(), at%g.lq(), tier); err != nil {
			return a, err
		}
	}
	return a, nil
}

// sample adds the errors of the rows from row i of head h.
func (a *accuracy) sample(g *group, h, i int, tier string) error {
	part := group{
		name: g.name, causal: g.causal, offset: i,
		q: cut(&g.q, h, i, sampleRows),
		k: cut(&g.k, g.kvHead(h), 0, g.lk()),
		v: cut(&g.v, g.kvHead(h), 0, g.lk()),
	}
	out := part.newOut()
	if err := part.attend(&out, tier, 1); err != nil {
		return err
	}
	truth := exact(&part)
	for x, got := range out.data {
		a.err.add(got, truth[x])
	}
	a.rows += sampleRows
	return nil
}

// cut returns rows [i, i+n) of head h of the first batch row, as an array.
func cut(a *array, h, i, n int) array {
	d := a.shape[3]
	return array{a.head(0, h)[i*d : (i+n)*d], [4]int{1, 1, n, d}}
}
