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
			if got, want := newPlanned(tier, c, 1).isPlain(), slices.Contains(isFree, name); got != want {
				t.Errorf("%s: the call is plain: %v, want %v", name, got, want)
			}
		}
	})
}
