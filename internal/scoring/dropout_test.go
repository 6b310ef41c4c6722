package scoring

import "testing"

// TestDropoutThreshold: rate·2^32 is exact and then rounded to an integer, ties to even.
func TestDropoutThreshold(t *testing.T) {
	for _, c := range []struct {
		rate float32
		want uint32
	}{
		{0, 0}, {0x1p-34, 0}, {0x1p-33, 0}, {0x1.8p-33, 1}, {0x1p-32, 1},
		{1.5 * 0x1p-32, 2}, {2.5 * 0x1p-32, 2}, {3.5 * 0x1p-32, 4}, {2.5000002 * 0x1p-32, 3},
		{0.5, 1 << 31}, {1 - 0x1p-24, 1<<32 - 1<<8},
	} {
		if got := (&Dropout{Rate: c.rate}).Threshold(); got != c.want {
			t.Errorf("rate %v·2^-32: threshold %d, want %d", float64(c.rate)*(1<<32), got, c.want)
		}
	}
}
