// Command attn times attention for bench/peers/run.py, as worker.py beside it does for other
// programs: a line of JSON with its name first, then one for each line of input.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// A shape is a shape of shapes.py.
type shape struct {
	Name    string
	Heads   int
	KVHeads int `json:"kv_heads"`
	Lq, Lk  int
	D       int
	Causal  bool
}

// last is the shape that was timed last.
var last struct {
	shape shape
	rms   float64
}

// modes are the types of keys, values and products, by what run.py calls them.
var modes = map[string]string{"float32": "float32", "bfloat16": "bfloat16, products too", "int8": "int8, quantized"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "attn:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: attn MODE THREADS")
	}
	i := slices.IndexFunc(calls.Types, func(t calls.Type) bool { return t.Name == modes[args[0]] })
	if i < 0 {
		return fmt.Errorf("MODE is %q, want float32, bfloat16 or int8", args[0])
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil || threads < 1 {
		return fmt.Errorf("THREADS is %q, want at least 1", args[1])
	}
	return calls.Worker(func(line []byte) (map[string]float64, error) {
		var request struct {
			Shape   shape
			Seconds float64
		}
		if err := json.Unmarshal(line, &request); err != nil {
			return nil, err
		}
		ns, rms, err := request.Shape.time(&calls.Types[i], threads, time.Duration(request.Seconds*float64(time.Second)))
		return map[string]float64{"ns": ns, "rms": rms}, err
	})
}

// time calls for some time. It returns the median time of a call in nanoseconds, and the root mean
// square of the error of its first head.
func (s *shape) time(t *calls.Type, threads int, limit time.Duration) (ns, rms float64, err error) {
	kv, keys, y := [4]int{1, s.KVHeads, s.Lk, s.D}, s.KVHeads*s.Lk*s.D, make([]float32, s.Heads*s.Lq*s.D)
	numbers := numbers.Normals(2*keys + len(y))
	x, values, queries := numbers[:keys], numbers[keys:2*keys], numbers[2*keys:]
	k, v := t.Sets(x, 1, kv)[0], t.Sets(values, 1, kv)[0]
	q, out := kernel.BHLD(queries, 1, s.Heads, s.Lq, s.D), kernel.BHLD(y, 1, s.Heads, s.Lq, s.D)
	o := kernel.Options{Exec: kernel.Exec{Threads: threads}, Scoring: t.Scoring}
	if s.Causal {
		o.Mask = kernel.Causal(0)
	}
	var times []float64
	for start := time.Now(); len(times) < 2 || time.Since(start) < limit; {
		before := time.Now()
		if err := kernel.Attention(out, q, k, v, &o); err != nil {
			return 0, 0, err
		}
		times = append(times, float64(time.Since(before).Nanoseconds()))
	}
	if *s != last.shape { // the error of a shape takes a second
		last.shape, last.rms = *s, s.error(y, queries, x, values)
	}
	return stats.Median(times[1:]), last.rms, nil
}

// error returns the root mean square of the error of the first head of y.
func (s *shape) error(y, q, k, v []float32) float64 {
	total, weights := 0.0, make([]float64, s.Lk)
	for i := range s.Lq {
		seen, sum, most := s.Lk, 0.0, math.Inf(-1)
		if s.Causal {
			seen = i + 1
		}
		for j := range weights[:seen] {
			score := 0.0
			for e, x := range q[i*s.D:][:s.D] {
				score += float64(x) * float64(k[j*s.D+e])
			}
			weights[j] = score / math.Sqrt(float64(s.D))
			most = max(most, weights[j])
		}
		want := make([]float64, s.D)
		for j := range weights[:seen] {
			w := math.Exp(weights[j] - most)
			sum += w
			for e, x := range v[j*s.D:][:s.D] {
				want[e] += w * float64(x)
			}
		}
		for e, x := range want {
			difference := float64(y[i*s.D+e]) - x/sum
			total += difference * difference
		}
	}
	return math.Sqrt(total / float64(s.Lq*s.D))
}
