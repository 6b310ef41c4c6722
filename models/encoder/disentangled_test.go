package encoder

import (
	"slices"
	"testing"
)

// TestBuckets compares the rows of distances with those of transformers' make_log_bucket_position, of 5.24: a sum over the
// distances -n to n of i times the row i, and the rows at both ends.
func TestBuckets(t *testing.T) {
	for _, c := range []struct {
		buckets, most, sum int
		ends               []int // of -most, 1-most, most-1, most
	}{
		{256, 512, 189524346, []int{0, 1, 511, 511}},
		{16, 160, 1189362, []int{0, 1, 31, 31}},
		{8, 40, 36946, []int{0, 1, 15, 15}},
		{4, 1000, 11006992, []int{0, 1, 7, 7}},
	} {
		d := &disentangled{buckets: c.buckets, span: c.buckets, most: c.most}
		rows := d.rows(c.most + 1)
		sum := 0
		for i, row := range rows {
			sum += i * row
		}
		n := len(rows)
		ends := []int{rows[0], rows[1], rows[n-2], rows[n-1]}
		if sum != c.sum || !slices.Equal(ends, c.ends) {
			t.Errorf("%d buckets for %d distances: sum %d and ends %d, want %d and %d", c.buckets, c.most, sum, ends, c.sum, c.ends)
		}
	}
}

// TestDistances: without buckets every distance has a row, up to the last one.
func TestDistances(t *testing.T) {
	d := &disentangled{span: 3, most: 3}
	if got, want := d.rows(6), []int{0, 0, 0, 1, 2, 3, 4, 5, 5, 5, 5}; !slices.Equal(got, want) {
		t.Errorf("rows %d, want %d", got, want)
	}
}
