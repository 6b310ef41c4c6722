package embedding

// Pool writes the pooling of the rows of states, [tokens, len(v)], to v. All sums are of float64; a
// column is summed from the first token to the last.
func Pool(v []float64, states []float32, how Pooling) { poolOne(v, states, how, 0) }
