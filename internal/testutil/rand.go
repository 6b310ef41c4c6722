package testutil

// A Rand generates test data from integers alone, so that the data are the same on
// every architecture. Its value is the seed (SplitMix64: Steele, Lea, Flood, OOPSLA
// 2014).
type Rand uint64

// Uint64 returns a random number of 64 bits.
func (r *Rand) Uint64() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// IntN returns a random number in [0, n).
func (r *Rand) IntN(n int) int { return int(r.Uint64() % uint64(n)) }

// Float32 returns a multiple of 2^-16 in [-2, 2).
func (r *Rand) Float32() float32 { return float32(int(r.Uint64()&0x3ffff)-0x20000) / 0x10000 }

// Fill sets every element of x to a Float32.
func (r *Rand) Fill(x []float32) {
	for i := range x {
		x[i] = r.Float32()
	}
}

// Floats returns n numbers of a Rand with the seed n.
func Floats(n int) []float32 {
	r := Rand(n)
	x := make([]float32, n)
	r.Fill(x)
	return x
}

// Filled returns n numbers x.
func Filled(n int, x float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = x
	}
	return s
}
