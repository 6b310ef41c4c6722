package backward

import "github.com/attn-go/attn/internal/view"

// clearBias sets the gradients of the biases to zero, and the strides with which they
// broadcast.
func (j *Job) clearBias() {
	if !j.Call.DBias.IsSet() {
		return
	}
	j.eachBias(func(row []float32) { clear(row) })
	f := &j.Call.Forward
	scores := view.Scores{Batch: f.Q.Dim(0), Heads: f.Q.Dim(1), Queries: f.Q.Dim(2), Keys: f.K.Dim(2)}
	j.dBias, _ = j.Call.DBias.Broadcast("", &scores)
}

// finishBias replaces each NaN by the canonical one.
func (j *Job) finishBias() {
	if j.Call.DBias.IsSet() {
		j.eachBias(func(row []float32) {
			for x := range row {
				row[x] = canonical(row[x])
			}
		})
	}
}

// eachBias calls f for all rows of DBias.
func (j *Job) eachBias(f func(row []float32)) {
	shape := j.Call.DBias.Shape()
	for b := range shape[0] {
		for h := range shape[1] {
			for i := range shape[2] {
				f(j.Call.DBias.Row(b, h, i))
			}
		}
	}
}

// addBias adds the gradients of n keys, from number key on, to those of the biases, row by
// row: several rows may share a bias.
func (s *segment) addBias(j *Job, key, n int, ds []float32) {
	batch, _ := s.KVHead()
	lanes, rows, bias := s.Kernels().Lanes, s.Rows(), &j.dBias
	n = min(n, bias.Dim(3)-key)
	s.EachLane(func(lane, head, query int) {
		if lane >= rows || n <= 0 {
			return
		}
		at := bias.At(batch, head, query) + key
		for x, row := range bias.F32()[at : at+n] {
			bias.F32()[at+x] = row + ds[x*lanes+lane]
		}
	})
}
