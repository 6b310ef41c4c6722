package ukernel

// A Tier is one implementation of the micro-kernels, for one instruction set.
type Tier struct {
	Name string

	// Lacks returns what this CPU lacks to run the tier, "" if nothing.
	Lacks func() string

	Kernels
	Tuning

	wide []TileKernels // tiles wider than the widest, see WideTile
}

// Kernels are all micro-kernels of a tier. It inherits nothing silently: its table
// lists all that it has.
type Kernels struct {
	// Tiles are the kernels for query tiles, narrowest first.
	Tiles []TileKernels

	Skinny      SkinnyKernels
	Convert     Converters
	Weights     WeightKernels
	Functions   Functions
	Norms       Norms
	Activations Activations
	Backward    BackwardKernels
}

// Tuning are the numbers that decide about the speed of a tier. No bit of a result
// depends on them.
type Tuning struct {
	// MainLanes is the width of the query tile that is fastest if there are rows enough
	// to fill it.
	MainLanes int

	// SkinnyRows is the largest number of rows of a KV head for which the skinny
	// kernels are used. From memory they are always faster than tiles, up to four
	// times. From L2 and L3, on Zen 4, avx512 gains up to 44 rows, a fifth on average,
	// except where the rows fill a tile of 16 or 32 lanes: 2-9% slower. avx2 gains up
	// to 6 rows; up to 12 it loses 0-7% from L3, and a fifth at 8 rows from L2.
	SkinnyRows int

	// FullRows is the least number of rows for which a tile is faster than the skinny
	// kernels if they fill it and there is at most one block of keys; 0 if none is
	// known. On Zen 4, 16 and 32 rows take avx512 5-8% less time in a tile, 8 rows take
	// more; avx2 gains from 8 rows on.
	FullRows int

	// ThreadFMAs is the number of FMAs that take so long, some 20 to 40 µs, that with less
	// work per thread one more thread makes a call slower.
	ThreadFMAs int

	// WeightSteps is the number of rows of Wᵀ that a product of many rows with a packed
	// panel takes at a time: so many stay in L1, or the kernel reads them fast enough
	// from L2. It is a multiple of InputSegment.
	WeightSteps int

	// WidenRows, if not 0, is the largest number of rows for which 16-bit weights are
	// widened in registers. For more rows they are widened once, before the product.
	WidenRows int

	// QuantizedRows is the largest number of rows for which quantized weights are widened in
	// registers. For more rows they are widened once.
	QuantizedRows int
}

// Tile returns the kernels of the narrowest tile with at least n lanes, or those of
// the widest.
func (k *Kernels) Tile(n int) *TileKernels {
	for i := range k.Tiles {
		if k.Tiles[i].Lanes >= n {
			return &k.Tiles[i]
		}
	}
	return k.Widest()
}

// Widest returns the kernels of the widest tile.
func (k *Kernels) Widest() *TileKernels { return &k.Tiles[len(k.Tiles)-1] }

// maxCallFMAs is the number of FMAs of the longest call of a kernel: about 90 µs on
// two 128-bit FMA units at 3 GHz, a fourth of that on two of 512 bits.
const maxCallFMAs = 2 << 20

// RowsPerCall returns how many of n rows of a product to compute in one call, if a
// row takes so many FMAs: at least 1.
func RowsPerCall(n, fmas int) int {
	if n*fmas <= maxCallFMAs {
		return n
	}
	return max(1, maxCallFMAs/fmas)
}

// maxCallFloats is the number of floats of the longest call of a kernel that moves rows from
// one layout to another: 40 µs or less on the CPUs measured.
const maxCallFloats = 64 << 10

// IsOneCall tells whether such a call may take all d columns of n rows.
func IsOneCall(d, n int) bool { return d*n <= maxCallFloats }

// ColumnsPerCall returns how many of d columns such a call should take for n rows: d, or a
// multiple of 64.
func ColumnsPerCall(d, n int) int {
	if IsOneCall(d, n) {
		return d
	}
	return maxCallFloats / n &^ 63
}
