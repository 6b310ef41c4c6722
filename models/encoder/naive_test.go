package encoder

import (
	"fmt"
	"math"

	"github.com/attn-go/attn/models/encoder/berttest"
)

// embed computes an embedding in float64, step by step.
func (s *small) embed(prefix string, ids []int32, gelu func(float64) float64) []float64 {
	x := make([][]float64, len(ids))
	words, positions, types := s.rows(prefix+"embeddings.word_embeddings.weight"), s.rows(prefix+"embeddings.position_embeddings.weight"), s.rows(prefix+"embeddings.token_type_embeddings.weight")
	for i, id := range ids {
		x[i] = plus(plus(words[id], positions[i]), types[0])
	}
	s.norm(prefix+"embeddings.LayerNorm", x)
	for l := range berttest.Layers {
		name := fmt.Sprintf("%sencoder.layer.%d.", prefix, l)
		y := s.dense(name+"attention.output.dense", attend(
			s.dense(name+"attention.self.query", x), s.dense(name+"attention.self.key", x), s.dense(name+"attention.self.value", x)))
		x = s.addNorm(name+"attention.output.LayerNorm", x, y)
		inner := s.dense(name+"intermediate.dense", x)
		for _, row := range inner {
			for i, h := range row {
				row[i] = gelu(h)
			}
		}
		x = s.addNorm(name+"output.LayerNorm", x, s.dense(name+"output.dense", inner))
	}
	sum := make([]float64, berttest.Width)
	for _, row := range x {
		sum = plus(sum, row)
	}
	squares := 0.0
	for _, y := range sum {
		squares += y * y
	}
	for i := range sum {
		sum[i] /= math.Sqrt(squares)
	}
	return sum
}

func gelu(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }

func geluTanh(x float64) float64 {
	return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// rows returns a tensor's rows.
func (s *small) rows(name string) [][]float64 {
	x := s.Tensors[name]
	n := x.Shape[len(x.Shape)-1]
	rows := make([][]float64, len(x.Data)/n)
	for i := range rows {
		for _, y := range x.Data[i*n : (i+1)*n] {
			rows[i] = append(rows[i], float64(y))
		}
	}
	return rows
}

func (s *small) dense(name string, x [][]float64) [][]float64 {
	w, bias := s.rows(name+".weight"), s.rows(name + ".bias")[0]
	out := make([][]float64, len(x))
	for i, row := range x {
		for n := range w {
			out[i] = append(out[i], dot(row, w[n])+bias[n])
		}
	}
	return out
}

func (s *small) addNorm(name string, x, y [][]float64) [][]float64 {
	sum := make([][]float64, len(x))
	for i := range x {
		sum[i] = plus(x[i], y[i])
	}
	s.norm(name, sum)
	return sum
}

func (s *small) norm(name string, x [][]float64) {
	w, bias := s.rows(name + ".weight")[0], s.rows(name + ".bias")[0]
	for _, row := range x {
		mean, variance := 0.0, 0.0
		for _, y := range row {
			mean += y / float64(len(row))
		}
		for _, y := range row {
			variance += (y - mean) * (y - mean) / float64(len(row))
		}
		for i, y := range row {
			row[i] = (y-mean)/math.Sqrt(variance+1e-12)*w[i] + bias[i]
		}
	}
}

func attend(q, k, v [][]float64) [][]float64 {
	const d = berttest.Width / berttest.Heads
	out := make([][]float64, len(q))
	for i := range q {
		for h := 0; h < berttest.Width; h += d {
			weights, total := make([]float64, len(k)), 0.0
			for j := range k {
				weights[j] = math.Exp(dot(q[i][h:h+d], k[j][h:h+d]) / math.Sqrt(d))
				total += weights[j]
			}
			o := make([]float64, d)
			for j := range v {
				for e := range o {
					o[e] += weights[j] / total * v[j][h+e]
				}
			}
			out[i] = append(out[i], o...)
		}
	}
	return out
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func plus(x, y []float64) []float64 {
	sum := make([]float64, len(x))
	for i := range x {
		sum[i] = x[i] + y[i]
	}
	return sum
}
