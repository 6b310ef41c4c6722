package tune

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/attn-go/attn/internal/tier"
)

// A group is a set of numbers that are chosen together: its candidates, as [kernel.Tier.Tuned]
// takes them, and the calls that they are compared with.
type group struct {
	name       string
	fields     []string
	candidates func(t *tier.Tier) (changes []string)
	workloads  func() ([]workload, error)
}

// groups are all groups. Those that others depend on come first.
var groups = []group{
	{"tiles", []string{"MainLanes"}, choices("MainLanes"), prefill},
	{"kernels", []string{"QKSegments", "QKNear", "PVNear"}, choices("QKSegments", "QKNear", "PVNear"), decode},
	{"prefetch", []string{"PrefetchBytes"}, values("PrefetchBytes", 2<<10, 4<<10, 8<<10, 12<<10, 16<<10), narrowDecode},
	{"far", []string{"FarPrefetch"}, values("FarPrefetch", -1, 0, 1), narrowDecode},
	{"skinny", []string{"SkinnyRows"}, values("SkinnyRows", 0, 4, 6, 8, 12, 16, 24, 32, 44, 64), draft},
	{"memory", []string{"FarRows"}, values("FarRows", 0, 8, 12, 16, 20, 24, 32, 44, 64), far},
	{"full", []string{"FullRows"}, values("FullRows", 0, 4, 8, 16, 32), fullTiles},
	{"halves", []string{"FullHalfRows"}, values("FullHalfRows", 0, 4, 8, 16, 32), fullHalfTiles},
	{"heads", []string{"HeadKeys"}, values("HeadKeys", 0, 128, 256), plainCalls},
	{"pairs", []string{"PairBytes"}, values("PairBytes", 0, 256<<10, 512<<10, 1<<20, 2<<20), gradients},
	{"threads", []string{"ThreadFMAs"}, values("ThreadFMAs", 1<<18, 1<<19, 1<<20, 1<<21, 1<<22, 1<<23), threads},
	{"steps", []string{"WeightSteps"}, values("WeightSteps", 128, 256, 384, 512, 1024), weights},
	{"panels", []string{"PanelPrefetch"}, choices("PanelPrefetch"), fewRows},
	{"scores", []string{"LowerBytes"}, values("LowerBytes", 0, 1<<20, 16<<20), decode},
	{"blocks", []string{"BlockPrefetch"}, choices("BlockPrefetch"), fewRowsOfBlocks},
	{"widen", []string{"WidenRows"}, values("WidenRows", 0, 1, 2, 4, 8, 16, 32, 64), halves},
	{"rounded", []string{"PairRows"}, values("PairRows", 0, 2, 4, 6, 8, 16, 1<<20), rounded},
	{"unpacked", []string{"UnpackRows"}, values("UnpackRows", 0, 1, 2, 4, 6, 8, 16), grouped},
	{"lower", []string{"LowerRows"}, values("LowerRows", 0, 2, 4, 8, 16, 32, 64), grouped},
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
func values(field string, list ...int) func(t *tier.Tier) []string {
	return func(*tier.Tier) (changes []string) {
		for _, n := range list {
			changes = append(changes, fmt.Sprintf("%s=%d", field, n))
		}
		return changes
	}
}

// choices are all combinations of the values of numbers that choose among kernels. Not all of
// them need have a kernel.
func choices(fields ...string) func(t *tier.Tier) []string {
	return func(t *tier.Tier) (changes []string) {
		for _, field := range fields {
			list := t.Choices(field)
			var longer []string
			for _, n := range list {
				item := fmt.Sprintf("%s=%d", field, n)
				if len(changes) == 0 {
					longer = append(longer, item)
				}
				for _, c := range changes {
					longer = append(longer, c+","+item)
				}
			}
			if len(list) > 0 {
				changes = longer
			}
		}
		return changes
	}
}

// describe returns the numbers of the group.
func (g *group) describe(numbers string) string {
	var parts []string
	for item := range strings.SplitSeq(numbers, ",") {
		if name, _, _ := strings.Cut(item, "="); slices.Contains(g.fields, name) {
			parts = append(parts, item)
		}
	}
	return strings.Join(parts, ",")
}
