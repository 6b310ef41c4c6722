package view

import (
	"fmt"

	"github.com/attn-go/attn/internal/check"
	"github.com/attn-go/attn/internal/ints"
)

// KeyRows lists the keys of each query by their rows. See kernel.KeyRows.
type KeyRows struct {
	Rows  []int32
	Shape [4]int // B, Hkv, Lq, N
}

// IsSet distinguishes lists from the zero KeyRows.
func (k *KeyRows) IsSet() bool { return k.Rows != nil || k.Shape != [4]int{} }

// PerQuery tells whether queries of a KV head have different lists.
func (k *KeyRows) PerQuery() bool { return k.Shape[2] > 1 }

// Of returns the list of query i of KV head h of batch row b, without what follows its end.
func (k *KeyRows) Of(b, h, i int) []int32 {
	at, n := 0, k.Shape[3]
	for d, x := range [...]int{b, h, i} {
		if at *= k.Shape[d]; k.Shape[d] > 1 {
			at += x
		}
	}
	list := k.Rows[at*n:][:n]
	end := 0
	for n > 0 { // list[end:][:n] begins at the end or before it
		if half := n / 2; list[end+half] >= 0 {
			end, n = end+half+1, n-half-1
		} else {
			n = half
		}
	}
	return list[:end]
}

// Check reports lists that do not fit scores of c and the rows of keys.
func (k *KeyRows) Check(arg string, c *Scores, keys *Tensor) *check.Failure {
	wrong := func(want string) *check.Failure {
		return &check.Failure{Where: arg, Got: fmt.Sprintf("[B Hkv Lq N] = %v in %d rows", k.Shape, len(k.Rows)), Want: want}
	}
	all := max(k.Shape[3], 0)
	for i, n := range [...]int{c.Batch, keys.Dim(1), c.Queries} {
		if k.Shape[i] != n && k.Shape[i] != 1 {
			return wrong(fmt.Sprintf("%d batch rows, %d key heads and %d queries, or 1 of each", c.Batch, keys.Dim(1), c.Queries))
		}
		all = ints.MulSat(all, k.Shape[i])
	}
	if n := k.Shape[3]; n < 0 || n > maxListed {
		return wrong(fmt.Sprintf("lists of 0 to %d rows", maxListed))
	}
	if len(k.Rows) != all {
		return wrong(fmt.Sprintf("a slice of %d rows", all))
	}
	return k.checkRows(arg, c.Batch, keys)
}

// maxListed is the most rows of a list, as of keys.
const maxListed = 1 << 30

// checkRows reports the first row that is none of the keys.
func (k *KeyRows) checkRows(arg string, batch int, keys *Tensor) *check.Failure {
	n := k.Shape[3]
	if len(k.Rows) == 0 {
		return nil // there may be any number of lists
	}
	lists := len(k.Rows) / max(k.Shape[0], 1) / n
	for b := range min(k.Shape[0], batch) {
		most := keys.Length(b)
		if k.Shape[0] == 1 && (keys.IsPaged() || keys.IsRagged()) { // a list for all
			for x := range batch {
				most = min(most, keys.Length(x))
			}
		}
		rows := k.Rows[b*lists*n:][:lists*n]
		for len(rows) > 0 {
			if x := endOfRows(rows[:n], most); x < n {
				return &check.Failure{Where: arg, Got: fmt.Sprintf("row %d in a list of batch row %d", rows[x], b), Want: fmt.Sprintf("less than %d, or -1 for this and all that follow", most)}
			}
			rows = rows[n:]
		}
	}
	return nil
}

// endOfRows returns the number of the first row of a list that must not be there, or the length of
// the list.
func endOfRows(list []int32, most int) int {
	x := 0
	for x < len(list) && uint32(list[x]) < uint32(most) {
		x++
	}
	for x < len(list) && list[x] == -1 {
		x++
	}
	return x
}
