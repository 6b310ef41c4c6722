package encoder

import "github.com/attn-go/attn/kernel"

// lookUp writes the sums of the embeddings of tokens, of their types and of their positions, added in
// this order, as PyTorch's models do. types may be nil, which is type 0.
func (m *model) lookUp(x []float32, ids, types []int32) {
	w, position := m.Width, m.padding
	for i, id := range ids {
		row := x[i*w:][:w]
		m.words.Row(row, int(id))
		if m.types != nil {
			t := 0
			if types != nil {
				t = int(types[i])
			}
			for j, y := range m.types[t*w:][:w] {
				row[j] += y
			}
		}
		if m.positions == nil {
			continue
		}
		at := m.padding
		if int(id) != m.padding {
			position++
			at = position
		}
		for j, y := range m.positions[at*w:][:w] {
			row[j] += y
		}
	}
}

// buckets is the number of rows of MPNet's table of relative positions: half of them for keys
// before the query, half for those after it.
const buckets = 32

// bucketStarts are the distances at which buckets begin: 0 to 7, and then 8·2^(k/2), rounded up,
// which is where 8 + 8·log(n/8)/log(128/8) reaches an integer (Raffel et al., "T5", section 2.1).
var bucketStarts = [buckets / 2]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}

// bucket returns the bucket of a key at position j for a query at position i.
func bucket(i, j int) int {
	n, first := i-j, 0
	if n < 0 {
		n, first = -n, buckets/2
	}
	b := len(bucketStarts) - 1
	for bucketStarts[b] > n {
		b--
	}
	return first + b
}

// relativeBias returns the bias of the scores of n tokens, [Heads, n, n].
func (m *model) relativeBias(n int) []float32 {
	bias := make([]float32, m.Heads*n*n)
	for i := range n {
		for j := range n {
			row := bucket(i, j) * m.Heads
			for h := range m.Heads {
				bias[(h*n+i)*n+j] = m.relative[row+h]
			}
		}
	}
	return bias
}

// biasView returns the bias for all texts of a batch: its longest text has as many tokens or fewer.
func (s *scratch) biasView(heads int) kernel.Tensor {
	longest := 0
	for i := range len(s.starts) - 1 {
		longest = max(longest, s.starts[i+1]-s.starts[i])
	}
	n := s.biasRows
	return kernel.Strided(s.bias, [4]int{1, heads, longest, longest}, [3]int{heads * n * n, n * n, n})
}
