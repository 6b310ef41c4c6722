package tune

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/attn-go/attn/internal/tier"
)

// A group is a set of numbers that are chosen together: its candidates, given the numbers at
// hand, and the calls that they are compared with.
type group struct {
	name       string
	fields     []string
	candidates func(t *tier.Tier) []tier.Tuning
	workloads  func(tier string) ([]workload, error)
}

// groups are all groups. Those that others depend on come first.
var groups = []group{
	{"tiles", []string{"MainLanes"}, widths, prefill},
	{"kernels", []string{"QKKeys", "QKSegments", "QKNear", "PVNear"}, variants, decode},
	{"prefetch", []string{"PrefetchBytes"}, values("PrefetchBytes", 2<<10, 4<<10, 8<<10, 16<<10), decode},
	{"skinny", []string{"SkinnyRows"}, values("SkinnyRows", 0, 4, 6, 8, 12, 16, 24, 32, 44, 64), draft},
	{"full", []string{"FullRows"}, values("FullRows", 0, 4, 8, 16, 32), fullTiles},
	{"heads", []string{"HeadKeys"}, values("HeadKeys", 0, 128, 256), plainCalls},
	{"pairs", []string{"PairBytes"}, values("PairBytes", 0, 256<<10, 512<<10, 1<<20, 2<<20), gradients},
	{"threads", []string{"ThreadFMAs"}, values("ThreadFMAs", 1<<18, 1<<19, 1<<20, 1<<21, 1<<22, 1<<23), threads},
	{"steps", []string{"WeightSteps"}, values("WeightSteps", 128, 256, 384, 512, 1024), weights},
	{"panels", []string{"PanelPrefetch"}, panels, fewRows},
	{"widen", []string{"WidenRows"}, values("WidenRows", 0, 1, 2, 4, 8, 32), halves},
	{"quantized", []string{"QuantizedRows"}, values("QuantizedRows", 1, 2, 4, 8, 12, 16, 24), quantized},
}

// Groups lists the groups of numbers.
func Groups() (names []string) {
	for _, g := range groups {
		if g.name != "threads" || runtime.GOMAXPROCS(0) > 1 {
			names = append(names, g.name)
		}
	}
	return names
}

// values returns candidates of one number.
func values(field string, list ...int) func(t *tier.Tier) []tier.Tuning {
	return func(t *tier.Tier) (c []tier.Tuning) {
		for _, n := range list {
			x := t.Tuning
			reflect.ValueOf(&x).Elem().FieldByName(field).SetInt(int64(n))
			c = append(c, x)
		}
		return c
	}
}

// widths are those of the tier's tiles.
func widths(t *tier.Tier) (c []tier.Tuning) {
	for _, lanes := range t.Widths {
		x := t.Tuning
		x.MainLanes = lanes
		c = append(c, x)
	}
	return c
}

// variants are all kernels for few rows.
func variants(t *tier.Tier) (c []tier.Tuning) {
	return chosen(t, "QK=", "PV=")
}

// chosen are the tunings that choose each combination of a tier's variants of some kinds.
func chosen(t *tier.Tier, kinds ...string) []tier.Tuning {
	c := []tier.Tuning{t.Tuning}
	for _, kind := range kinds {
		var more []tier.Tuning
		for _, v := range t.Variants {
			if !strings.HasPrefix(v, kind) {
				continue
			}
			for _, x := range c {
				x.Choose(v)
				more = append(more, x)
			}
		}
		if more == nil {
			return nil
		}
		c = more
	}
	return c
}

// panels are all kernels for packed panels.
func panels(t *tier.Tier) (c []tier.Tuning) {
	return chosen(t, "Weight=")
}

// describe writes the numbers of the group.
func (g *group) describe(x *tier.Tuning) string {
	var parts []string
	for _, f := range g.fields {
		parts = append(parts, fmt.Sprintf("%s=%d", f, reflect.ValueOf(x).Elem().FieldByName(f).Int()))
	}
	return strings.Join(parts, ",")
}
