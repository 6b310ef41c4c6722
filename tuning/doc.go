// Package tuning has the numbers on which the speed of calls depends. No bit of a result
// depends on them.
//
// Every tier has its own numbers. A table has values for CPUs by their family and model, so
// programs need not know of them. They are for measurements: `go run ./bench -tune` finds the
// best ones for the machine at hand and prints them as an entry of that table. The
// environment variable ATTN_TUNING, which is read once, and [Set] change them. Both take
// items with commas between:
//
//	SkinnyRows=8         a number, for all tiers
//	avx512:MainLanes=32  a number of one tier
//	Zen 4                all numbers, as they are for that CPU
//
// These are the numbers:
//
//	MainLanes      the width of the query tile that is fastest if there are rows enough
//	SkinnyRows     up to so many rows of a KV head the kernels for decoding are used
//	FullRows       from so many rows on a tile is faster than these if the rows fill it and
//	               there is one block of keys; 0: never
//	FullHalfRows   the same for keys of 16 bits
//	HeadKeys       up to so many keys one kernel multiplies with the values and transposes;
//	               0: it is not used
//	QKSegments     so many segments of the columns of keys the kernel for scores of decoding
//	               takes at a time
//	QKNear         the level of the cache into which it prefetches the next keys
//	PVNear         the same for the next values
//	PrefetchBytes  how far ahead keys and values are prefetched
//	FarPrefetch    with 1 those once more as far ahead are, too; with -1 those half as far
//	               ahead are, a second time, for CPUs that drop prefetches; with 0 neither
//	PairBytes      above this size of the keys and values of a KV head gradients take two
//	               segments of rows at a time; 0: never
//	ThreadFMAs     with fewer FMAs for each thread one more thread makes a call slower
//	WeightSteps    so many inputs the products of linear layers with many rows take at a time
//	PanelPrefetch  which kernels of these prefetch weights
//	WidenRows      for more rows 16-bit weights are widened once, before the product; 0: never
//	QuantizedRows  for more rows quantized weights are
//
// The names are a part of the API. The best values belong to a version, as kernels change. A later version
// may have further numbers, and a number that has lost its meaning stays and does nothing.
//
// [Set] returns an error for a name that does not exist, and for a value that a tier cannot do with. If
// ATTN_TUNING has one, the tier ignores the whole variable, and [Ignored] says why.
package tuning
