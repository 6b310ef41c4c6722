package engine

import (
	"reflect"
	"slices"
	"testing"

	"github.com/attn-go/attn/internal/mask"
	"github.com/attn-go/attn/internal/scoring"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/internal/view"
)

// TestPlainCallHasNoOptions: a call in which any field but the tensors is set is not
// plain, unless the field has no effect alone, or none but on the numbers that plain
// calls compute with.
func TestPlainCallHasNoOptions(t *testing.T) {
	const heads, queries, keys, d = 2, 3, 5, 16
	isFree := []string{"Scale", "QueryStart", "KeyStart", "AdditiveScale", "Stage"}
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		newCall := func() Call {
			return Call{Out: floats(1, heads, queries, d), Q: floats(1, heads, queries, d), K: floats(1, heads, keys, d), V: floats(1, heads, keys, d)}
		}
		if !newPlanned(tier, newCall(), 1).isPlain() {
			t.Fatal("a call without options is not plain")
		}
		for _, field := range reflect.VisibleFields(reflect.TypeFor[Call]()) {
			name := field.Name
			if slices.Contains([]string{"Out", "Q", "K", "V", "Scoring"}, name) {
				continue
			}
			c := newCall()
			switch x := reflect.ValueOf(&c).Elem().FieldByIndex(field.Index).Addr().Interface().(type) {
			case *view.Tensor:
				*x = floats(1, heads, queries, keys)
			case *mask.Mask:
				*x = mask.OfRule(mask.Rule{Kind: &mask.Kind{}}, nil)
			case *bool:
				*x = true
			case *float32:
				*x = 0.5
			case *float64:
				*x = 0.5
			case *[]float32:
				*x = make([]float32, d)
			case *[]int:
				*x = []int{BlockKeys}
			case *func(*scoring.Tile):
				*x = func(*scoring.Tile) {}
			case *[]int32:
				*x = []int32{-1}
			case *view.KeyRows:
				*x = view.KeyRows{Rows: []int32{0}, Shape: [4]int{1, 1, 1, 1}}
			case *scoring.Dropout:
				x.Rate = 0.5
			case *ScoreStage:
				*x = ScoresMasked
			case *Partial:
				x.Max, x.Sum = floats(1, heads, queries, 1), floats(1, heads, queries, 1)
			default:
				t.Fatalf("%s: the test knows no value of type %T", name, x)
			}
			if name == "DynamicInt12" { // a unit for tiles asks how many columns share a scale
				scales := floats(1, heads, keys, 1)
				c.K, c.V = c.K.Scaled(&scales), c.V.Scaled(&scales)
			}
			want := slices.Contains(isFree, name)
			if got := newPlanned(tier, c, 1).isPlain(); got != want {
				t.Errorf("%s: the call is plain: %v, want %v", name, got, want)
			}
			c.Out = halves(1, heads, queries, d)
			want = want || name == "BFloat16" // whose numbers are rounded first, see TestShortCalls
			if got := newPlanned(tier, c, 1).isShort(); got != want {
				t.Errorf("%s: the call with an output of 16 bits is short: %v, want %v", name, got, want)
			}
		}
	})
}

// halves returns a contiguous [B, H, L, D] of zeros of 16 bits.
func halves(b, h, l, d int) view.Tensor {
	shape := [4]int{b, h, l, d}
	return view.Other(view.BFloat16, make([]uint16, b*h*l*d), shape, view.Contiguous(shape))
}

// TestShortCalls: calls are short up to some number of elements and of keys, if a tensor is not
// float32 or products are in bfloat16. Then they are plain once they are widened.
func TestShortCalls(t *testing.T) {
	eachTier(t, func(t *testing.T, tier *tier.Tier) {
		const d = 64
		few := tier.SkinnyRows
		if full := tier.FullRows; full > 0 && few >= full && tier.Tile(few).Lanes == few {
			few-- // rows that fill a tile are not skinny
		}
		for _, c := range []struct {
			name                 string
			heads, queries, keys int
			out                  func(b, h, l, d int) view.Tensor
			want                 bool
		}{
			{"float32", 2, 3, 5, floats, false},
			{"16 bits", 2, 3, 5, halves, true},
			{"as many rows as are skinny, one key less", 1, max(1, few), 23, halves, true},
			{"as many rows as are skinny", 1, few, 24, halves, few < 1},
			{"a row of each KV head", 8, 1, mixedPairs, halves, true},
			{"a row of each KV head, and one key more", 8, 1, mixedPairs + 1, halves, few < 1},
			{"one row more", 1, few + 1, 16, halves, true},
			{"a block of keys", 1, few + 1, BlockKeys, halves, true},
			{"two blocks", 1, few + 1, BlockKeys + 1, halves, false},
			{"no keys", 1, 3, 0, halves, false},
			{"the most elements", shortFloats / (4 * 64 * d), 64, 64, halves, true},
			{"more", shortFloats/(4*64*d) + 1, 64, 64, halves, false},
		} {
			j := newPlanned(tier, Call{Out: c.out(1, c.heads, c.queries, d), Q: floats(1, c.heads, c.queries, d), K: floats(1, c.heads, c.keys, d), V: floats(1, c.heads, c.keys, d)}, 1)
			if got := j.isShort(); got != c.want {
				t.Errorf("%s: the call is short: %v, want %v", c.name, got, c.want)
			}
		}
		for _, rounds := range []bool{false, true} {
			c := Call{Out: floats(1, 2, 3, d), Q: floats(1, 2, 3, d), K: floats(1, 2, 5, d), V: halves(1, 2, 5, d), Scoring: scoring.Scoring{BFloat16: rounds}}
			if rounds {
				c.V = floats(1, 2, 5, d)
			}
			j := newPlanned(tier, c, 1)
			if j.isPlain() || !j.isShort() {
				t.Errorf("BFloat16 = %v: the call is plain: %v, or is not short", rounds, j.isPlain())
				continue
			}
			j.widen()
			j.plan.begin(j)
			if j.plan.make(j, 1); !j.isPlain() {
				t.Errorf("BFloat16 = %v: the call is not plain after it was widened", rounds)
			}
			if j.finishShort(); j.widened.rounds {
				t.Error("the next call of the job would be taken for a rounded one")
			}
		}
	})
}
