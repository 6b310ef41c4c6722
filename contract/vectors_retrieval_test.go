package contract_test

import (
	"fmt"

	"github.com/attn-go/attn/internal/testutil"
	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/retrieval"
)

var retrievalFunctions = map[string]func(c *call) error{
	"max_sim": func(c *call) error {
		vectors := func(name string) kernel.Tensor {
			s := c.raw(name).Shape
			return kernel.BLHD(c.floats(name), 1, s[0], 1, s[1])
		}
		starts := c.ints("starts")
		scores := testutil.Filled(len(starts)-1, 77)
		err := retrieval.MaxSim(scores, vectors("q"), vectors("p").Ragged(starts), kernel.Exec{})
		c.out["scores"] = encode(scores, len(scores))
		return err
	},
}

func retrievalCases() (list []vector) {
	for i, x := range []struct {
		query, size int
		starts      []int
	}{{1, 1, []int{0, 1}}, {3, 5, []int{0, 2, 2, 7}}, {17, 64, []int{0, 9}}, {4, 130, []int{1, 3, 8}}} {
		rows := x.starts[len(x.starts)-1]
		list = append(list, vector{Name: fmt.Sprintf("max-sim-%d", i), Function: "max_sim", In: map[string]any{
			"q": array(10*i, x.query, x.size), "p": array(10*i+1, rows, x.size), "starts": x.starts,
		}})
	}
	return list
}
