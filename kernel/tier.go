package kernel

import (
	"fmt"

	"github.com/attn-go/attn/internal/tier"
)

// Tier is one implementation of the kernels, with the numbers that decide about its speed. A
// program gets it by name, once, and [Exec] takes it: a call need not look for it. All tiers
// compute the same bits. The zero Tier is the default one. Tiers are equal if == says so.
type Tier tier.Handle

// TierNamed returns the tier of this build with the name "generic", "avx2", "avx512", "neon" or
// "rvv"; for "" the default one, of the environment variable ATTN_TIER or else the best one that
// runs on this CPU. The error is an [*Error] of the kind [ErrTier], which says what the CPU lacks
// and lists the tiers that run.
func TierNamed(name string) (Tier, error) {
	t, f := tier.Default()
	if name != "" {
		t, f = tier.Named(name, "name")
	}
	if f != nil {
		return Tier{}, (*Error)(f.In("kernel.TierNamed"))
	}
	return Tier(t.Handle()), nil
}

// Tiers lists the tiers that this CPU can run, best first; the last one is generic. [attn.Report]
// says of the others of this build why they cannot run.
//
// [attn.Report]: https://pkg.go.dev/github.com/attn-go/attn#Report
func Tiers() (list []Tier) {
	for i := range tier.Tiers {
		if t := &tier.Tiers[i]; t.Lacks() == "" {
			list = append(list, Tier(t.Handle()))
		}
	}
	return list
}

// String returns the name of the tier: for the zero Tier the name of the default one, or "" if
// ATTN_TIER names none that runs.
func (t Tier) String() string {
	if x, _ := tier.Handle(t).Tier(); x != nil {
		return x.Name
	}
	return ""
}

// Tuning returns all numbers of the tier as [Tier.Tuned] takes them:
// "MainLanes=16,SkinnyRows=12,...", or "" as String does.
func (t Tier) Tuning() string {
	if x, _ := tier.Handle(t).Tier(); x != nil {
		return x.Tuning.String()
	}
	return ""
}

// Tuned returns a tier like t with other numbers. They decide about its speed, and change no bit of
// a result. There are values for many CPUs by their family and model, so programs need not know of
// them: they are for measurements. `go run ./bench -tune` finds the best ones for the machine at
// hand. The environment variable ATTN_TUNING changes the numbers of all tiers of a process. Both
// take items with commas between:
//
//	SkinnyRows=8         a number, for all tiers
//	avx512:MainLanes=32  a number of one tier; others leave the item out
//	Zen 4                all numbers, as they are for that CPU
//
// These are the numbers:
//
//	MainLanes      the width of the query tile that is fastest if there are rows enough
//	SkinnyRows     use the kernels for decoding for at most this many query rows of a KV head
//	FullRows       from this many rows on, use a query tile instead if the rows fill it and there
//	               is one block of keys; 0: never
//	FullHalfRows   the same for keys of 16 bits
//	HeadKeys       use the kernel that multiplies with the values and transposes for at most
//	               this many keys, where V has 64 columns; 0: for at most 64 keys, as elsewhere
//	QKSegments     the kernel for scores of decoding takes this many segments of the columns of
//	               keys at a time
//	QKNear         the level of the cache into which it prefetches the next keys
//	PVNear         the same for the next values
//	PrefetchBytes  how far ahead keys and values are prefetched
//	FarPrefetch    a second prefetch: 1: 2·PrefetchBytes ahead; -1: PrefetchBytes/2 ahead, for
//	               CPUs that drop prefetches; 0: none
//	PairBytes      gradients take two segments of rows at a time if the keys and values of a KV
//	               head have more bytes than this; 0: never
//	ThreadFMAs     use another thread only if each thread then has at least this many FMAs
//	WeightSteps    products of linear layers with many rows take this many inputs at a time
//	PanelPrefetch  which kernels for these products prefetch weights
//	WidenRows      with more rows than this, widen 16-bit weights once per call; 0: never
//	QuantizedRows  with more rows than this, widen quantized weights once per call
//	PairRows       with more rows than this, widen weights of products in bfloat16 once per call
//	UnpackRows     with at most this many rows of float32, unpack weights with a scale for each 16
//	               or more than 4 bits, such as Q6_K, rather than widen them
//	LowerRows      with at most this many rows of float32, weights with a scale for each 16, such
//	               as K-quants, take the kernels of the tier below with its WeightSteps,
//	               QuantizedRows and UnpackRows; 0: never
//	FarRows        in place of a smaller SkinnyRows with DynamicInt12, and of keys and values that
//	               have too many numbers for a core's own caches
//	LowerBytes     if the keys and values of a call have more bytes than this, few queries take
//	               the tier below for their scores with keys of float32; 0: never
//	BlockPrefetch  how far ahead products of few rows prefetch quantized weights, in KiB; 0: a
//	               distance that depends on the format and the rows
//
// The names are a part of the API. The best values belong to a version, as kernels change. A later
// version may have further numbers, and a number that has lost its meaning stays and does nothing.
//
// The error is an [*Error] for a name that does not exist and for a value that the tier cannot do
// with. If ATTN_TUNING has one, the tier ignores the whole variable, and attn.Report says why.
func (t Tier) Tuned(changes string) (Tier, error) {
	x, f := tier.Handle(t).Tier()
	if f != nil {
		return Tier{}, (*Error)(f.In("kernel.Tier.Tuned"))
	}
	tuned, err := x.Changed(changes)
	if err != nil {
		return Tier{}, &Error{Where: "kernel.Tier.Tuned: changes", Got: fmt.Sprintf("%q (%v)", changes, err), Want: "numbers that tier " + x.Name + " can do with"}
	}
	return Tier(tuned.Handle()), nil
}
