package passage

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

// FuzzRead cuts any file into passages of every kind: their lines are in order, what counts as read
// is at most the file, windows leave no word out, and a reader of one byte at a time makes no
// difference.
func FuzzRead(f *testing.F) {
	f.Add([]byte("a\r\nb\n\n\nlast line without an end"), uint8(1), 5)
	f.Add([]byte("\xff\xfe日本\u2028語\n\x00"), uint8(0), 1)
	f.Add([]byte("one two three four five six seven eight"), uint8(3), math.MaxInt)
	f.Fuzz(func(t *testing.T, data []byte, context uint8, tokens int) {
		if tokens < 1 {
			tokens = 1 - max(tokens, -100)
		}
		for unit := Line; unit <= Window; unit++ {
			o := Options{Unit: unit, Context: int(context % 4), Tokens: tokens, Count: count}
			var words, all []string
			last, read := 0, 0
			for p, err := range Read(bytes.NewReader(data), o) {
				if err != nil {
					t.Fatal(err)
				}
				if p.First < 1 || p.Last < p.First || unit != Window && p.First <= last || len(p.Before) > o.Context || len(p.After) > o.Context {
					t.Errorf("%v: lines %d to %d after %d, %d lines before and %d after it", unit, p.First, p.Last, last, len(p.Before), len(p.After))
				}
				last = p.Last
				read += p.Bytes
				all = append(all, p.Text)
				words = append(words, strings.Fields(p.Text)...)
			}
			if read > len(data) {
				t.Errorf("%v: %d bytes of %d", unit, read, len(data))
			}
			if left := missing(strings.Join(words, ""), strings.Join(strings.Fields(strings.ToValidUTF8(string(data), "")), "")); unit == Window && left != "" {
				t.Errorf("windows of %d tokens leave out %q", tokens, left)
			}
			again := 0
			for p, err := range Read(iotest.OneByteReader(bytes.NewReader(data)), o) {
				if err != nil || again >= len(all) || p.Text != all[again] {
					t.Fatalf("%v: passage %d byte by byte: %q, %v", unit, again, p.Text, err)
				}
				again++
			}
			if again != len(all) {
				t.Errorf("%v: %d passages byte by byte, want %d", unit, again, len(all))
			}
		}
	})
}

// missing returns the rest of want that is no subsequence of got.
func missing(got, want string) string {
	for i := 0; i < len(got) && want != ""; i++ {
		if got[i] == want[0] {
			want = want[1:]
		}
	}
	return want
}
