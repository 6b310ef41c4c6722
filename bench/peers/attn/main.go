// Command attn times attention for bench/peers/run.py, as worker.py beside it does for other
// programs: a line of JSON with its name first, then one for each line of input.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/attn-go/attn/bench/internal/calls"
	"github.com/attn-go/attn/bench/internal/numbers"
	"github.com/attn-go/attn/bench/internal/stats"
	"github.com/attn-go/attn/kernel"
)

// A shape is one of shapes.py.
type shape struct {
	Name    string
	Heads   int
	KVHeads int `json:"kv_heads"`
	Lq, Lk  int
	D       int
	Causal  bool
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "attn:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: attn THREADS")
	}
	threads, err := strconv.Atoi(args[0])
	if err != nil || threads < 1 {
		return fmt.Errorf("THREADS is %q, want at least 1", args[0])
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(map[string]string{"name": "attn " + kernel.Tier{}.String()}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var request struct {
			Shape   shape
			Seconds float64
		}
		err := json.Unmarshal(lines.Bytes(), &request)
		ns := 0.0
		if err == nil {
			ns, err = request.Shape.time(threads, time.Duration(request.Seconds*float64(time.Second)))
		}
		answer := any(map[string]float64{"ns": ns})
		if err != nil {
			answer = map[string]string{"error": err.Error()}
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

// time returns the median time of a call in nanoseconds, of those that fit into a time.
func (s *shape) time(threads int, limit time.Duration) (float64, error) {
	kv := [4]int{1, s.KVHeads, s.Lk, s.D}
	x, scoring := numbers.Normals(s.KVHeads*s.Lk*s.D), kernel.Scoring{}
	if s.Causal {
		scoring.Mask = kernel.Causal(0)
	}
	t := &calls.Types[0]
	call := calls.Attention(calls.Queries(s.Heads, s.Lq, s.D), t.Sets(x, 1, kv), t.Sets(x, 1, kv), scoring)
	var times []float64
	for start := time.Now(); len(times) < 2 || time.Since(start) < limit; {
		before := time.Now()
		if err := call(kernel.Exec{Threads: threads}); err != nil {
			return 0, err
		}
		times = append(times, float64(time.Since(before).Nanoseconds()))
	}
	return stats.Median(times[1:]), nil
}
