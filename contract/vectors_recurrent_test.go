package contract_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/recurrent"
)

var recurrentFunctions = map[string]func(c *call) error{
	"delta": recurrentOf(recurrent.GatedDelta), "state_space": recurrentOf(recurrent.StateSpace),
	"kimi_delta": recurrentOf(recurrent.KimiDelta), "gated_linear": recurrentOf(recurrent.GatedLinear),
}

func recurrentOf(rule recurrent.Rule) func(c *call) error {
	return func(c *call) error {
		heads := func(name string) kernel.Tensor {
			s := c.raw(name).Shape
			return kernel.BHLD(c.floats(name), 1, s[0], s[1], s[2])
		}
		x := recurrent.Text{Q: heads("q"), K: heads("k"), V: heads("v"), Decay: c.floats("decay"), Gate: c.floats("gate")}
		keys, s := x.K.Shape(), c.raw("v").Shape
		d := recurrent.Layer{Heads: s[0], KeyHeads: keys[1], KeySize: keys[3], ValueSize: s[2], Rule: rule}
		out := testutil.Filled(count(s), 77)
		err := d.Apply(kernel.BHLD(out, 1, s[0], s[1], s[2]), x, kernel.Exec{})
		c.out["out"] = encode(out, s...)
		return err
	}
}

func recurrentCases() (list []vector) {
	// Tokens within a segment, a chunk that is open, full, and two full ones with a rest.
	for r, rule := range []string{"delta", "state_space", "kimi_delta", "gated_linear"} {
		for i, x := range []struct{ heads, keyHeads, tokens, keys, values int }{{1, 1, 1, 1, 1}, {2, 1, 5, 3, 2}, {1, 1, 16, 4, 3}, {4, 2, 37, 2, 3}, {1, 1, 64, 5, 2}, {2, 2, 145, 3, 2}} {
			seed, decays := 10*i, []int{x.tokens, x.heads}
			if r >= 2 {
				decays = append(decays, x.keys)
			}
			list = append(list, vector{Name: fmt.Sprintf("%s-%03d", strings.ReplaceAll(rule, "_", "-"), x.tokens), Function: rule, In: map[string]any{
				"q": array(seed, x.keyHeads, x.tokens, x.keys), "k": array(seed+1, x.keyHeads, x.tokens, x.keys), "v": array(seed+2, x.heads, x.tokens, x.values),
				"decay": encode(spread(100+i, count(decays), -.3, 0), decays...), "gate": encode(spread(200+i, x.tokens*x.heads, 0, 1), x.tokens, x.heads),
			}})
		}
		// The first token makes a NaN of Inf - Inf or Inf·0, with a sign on some CPUs.
		decays, inf := []float32{-1, float32(math.Inf(-1))}, float32(math.Inf(1))
		list = append(list, vector{Name: strings.ReplaceAll(rule, "_", "-") + "-nan", Function: rule, In: map[string]any{
			"q": encode([]float32{1, 0, 1}, 1, 3, 1), "k": encode([]float32{inf, 1, 1}, 1, 3, 1), "v": encode([]float32{1, 1, 1}, 1, 3, 1),
			"decay": encode(append(decays, 0), append([]int{3, 1, 1}[:2], []int{1}[:r/2]...)...), "gate": encode([]float32{1, 1, 1}, 3, 1),
		}})
	}
	return list
}
