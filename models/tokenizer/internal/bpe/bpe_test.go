package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// vocabulary has the letters a to d, and merges of them.
func vocabulary() (ids map[string]int32, merges []string) {
	merges = []string{"a b", "c d", "ab cd", "a a", "aa ab", "b c", "d d", "aa aa", "bc d"}
	ids = map[string]int32{"a": 0, "b": 1, "c": 2, "d": 3}
	for i, m := range merges {
		ids[strings.Replace(m, " ", "", 1)] = int32(4 + i)
	}
	return ids, merges
}

// byDefinition merges the leftmost pair of the lowest rank until there is none.
func byDefinition(word string, ids map[string]int32, rank func(left, right string) int) (out []int32) {
	w := strings.Split(word, "")
	for {
		best, at := 1<<30, -1
		for i := 0; i+1 < len(w); i++ {
			if r := rank(w[i], w[i+1]); r >= 0 && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		w = slices.Replace(w, at, at+2, w[at]+w[at+1])
	}
	for _, text := range w {
		out = append(out, ids[text])
	}
	return out
}

// Merging follows the definition: for short pieces and long ones, by merges and by scores.
func TestMerges(t *testing.T) {
	ids, list := vocabulary()
	c := Config{IDs: ids, Unknown: -1}
	scores := make([]float32, len(ids))
	for i, m := range list {
		left, right, _ := strings.Cut(m, " ")
		c.Merges = append(c.Merges, Merge{ids[left], ids[right], ids[left+right]})
		scores[4+i] = float32(-i)
	}
	byList := New(c, len(ids)).Encoder()
	byScore := New(Config{IDs: ids, Unknown: -1, Scores: scores}, len(ids)).Encoder()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		word := make([]byte, 1+r.IntN(1+i/30))
		for j := range word {
			word[j] = "abcd"[r.IntN(4)]
		}
		for what, e := range map[*Encoder]func(left, right string) int{
			byList:  func(left, right string) int { return slices.Index(list, left+" "+right) },
			byScore: func(left, right string) int { return int(ids[left+right]) - 4 },
		} {
			rank := func(left, right string) int {
				if _, ok := ids[left+right]; !ok {
					return -1
				}
				return e(left, right)
			}
			if got, want := what.Append(nil, string(word)), byDefinition(string(word), ids, rank); !slices.Equal(got, want) {
				t.Fatalf("%s: got %v, want %v", word, got, want)
			}
		}
	}
}

// A score that is higher has a lower rank.
func TestRank(t *testing.T) {
	scores := []float32{3e38, 2, 1, 1e-45, 0, -1e-45, -1, -2, -3e38}
	for i := 1; i < len(scores); i++ {
		if rank(scores[i-1]) >= rank(scores[i]) {
			t.Errorf("ranks of %g and %g: %d and %d", scores[i-1], scores[i], rank(scores[i-1]), rank(scores[i]))
		}
	}
}
