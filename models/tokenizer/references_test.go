package tokenizer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// full is a folder that testdata/make.py has written all ids to.
var full = flag.String("full", "", "folder with all ids of testdata/make.py, to find what differs")

// lines makes the lines of testdata/make.py.
type lines struct {
	x      uint64
	pieces map[string][]string
}

func (l *lines) below(n int) int {
	l.x = l.x*6364136223846793005 + 1442695040888963407
	return int(l.x >> 33 % uint64(n))
}

func (l *lines) pick(name string) string { return l.pieces[name][l.below(len(l.pieces[name]))] }

func (l *lines) line(broken bool) string {
	out := ""
	for range 1 + l.below(24) {
		k, name := l.below(100), "words"
		switch {
		case k < 60:
		case k < 62:
			name = "spaces"
		case k < 90:
			name = "signs"
		case k < 93 && !broken:
			name = "marks"
		}
		out += l.pick(name)
		if broken && k%5 == 0 {
			bytes, _ := hex.DecodeString(l.pick("broken"))
			out += string(bytes)
		}
		if l.below(3) > 0 {
			out += " "
		}
	}
	return out
}

func testLines(t testing.TB) (all, broken []string) {
	t.Helper()
	l := &lines{x: 1}
	read(t, "pieces.json", &l.pieces)
	for range 10000 {
		all = append(all, l.line(false))
	}
	for range 1000 {
		broken = append(broken, l.line(true))
	}
	return all, broken
}

func read(t testing.TB, name string, to any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func fromFile(t testing.TB, name string) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := FromJSON(data, nil)
	if err != nil {
		t.Fatal(name, err)
	}
	return tok
}

// results returns what testdata/make.py has references of. Texts are byte by byte.
func results(tok *Tokenizer, all, broken []string) map[string][][]int32 {
	out := map[string][][]int32{}
	add := func(name string, row []int32) { out[name] = append(out[name], row) }
	text := func(s string) (row []int32) {
		for i := range len(s) {
			row = append(row, int32(s[i]))
		}
		return row
	}
	for _, line := range all {
		ids := tok.Encode(line, Options{})
		add("ids", ids)
		add("plain", tok.Encode(line, Options{Plain: true, NoSpecial: true}))
		add("text", text(tok.Decode(ids, true)))
		add("text without special", text(tok.Decode(ids, false)))
	}
	for i := 0; i < len(all); i += 2 {
		ids, types := tok.EncodePair(all[i], all[i+1], Options{})
		add("pairs", ids)
		add("types", types)
		ids, _ = tok.EncodePair(all[i], all[i+1], Options{Limit: 20})
		add("cut", ids)
	}
	for _, line := range broken {
		add("broken", tok.Encode(line, Options{NoSpecial: true}))
	}
	return out
}

// hashes returns a hash of every 500 rows.
func hashes(rows [][]int32, bytes bool) (out []string) {
	for block := range slices.Chunk(rows, 500) {
		h := sha256.New()
		for _, row := range block {
			binary.Write(h, binary.LittleEndian, int32(len(row)))
			for _, x := range row {
				if bytes {
					h.Write([]byte{byte(x)})
				} else {
					binary.Write(h, binary.LittleEndian, x)
				}
			}
		}
		out = append(out, hex.EncodeToString(h.Sum(nil))[:16])
	}
	return out
}

// The ids of 10,000 lines, alone, as pairs, cut, with special tokens as text, with bytes that are
// not UTF-8, and the texts of the ids, equal the results of Hugging Face's tokenizers, for a small
// vocabulary of every kind.
func TestReferences(t *testing.T) {
	all, broken := testLines(t)
	var refs map[string]map[string][]string
	read(t, "references.json", &refs)
	if len(refs) < 17 {
		t.Errorf("references of %d kinds, want 17 or more", len(refs))
	}
	for name, want := range refs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := results(fromFile(t, name), all, broken)
			if len(want) != len(got) {
				t.Errorf("%d references, want %d", len(want), len(got))
			}
			for what, rows := range got {
				if h := hashes(rows, what == "text" || what == "text without special"); !slices.Equal(h, want[what]) {
					t.Errorf("%s: got hashes %v, want %v", what, h, want[what])
					findDifference(t, name, what, rows, all, broken)
				}
			}
		})
	}
}

// findDifference reports the first rows that differ from those in the folder of -full.
func findDifference(t *testing.T, name, what string, rows [][]int32, all, broken []string) {
	if *full == "" {
		return
	}
	data, err := os.ReadFile(filepath.Join(*full, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	var ids [][]int32
	if json.Unmarshal(want[what], &ids) != nil {
		var texts []string
		ids = nil
		json.Unmarshal(want[what], &texts)
		for _, s := range texts {
			var row []int32
			for i := range len(s) {
				row = append(row, int32(s[i]))
			}
			ids = append(ids, row)
		}
	}
	count := 0
	for i := range rows {
		if slices.Equal(rows[i], ids[i]) {
			continue
		}
		if count++; count > 3 {
			continue
		}
		line := all
		k := i
		switch what {
		case "broken":
			line = broken
		case "pairs", "types", "cut":
			k = 2 * i
		}
		j := 0
		for j < min(len(rows[i]), len(ids[i])) && rows[i][j] == ids[i][j] {
			j++
		}
		t.Errorf("%s %d: %q: at %d got %v, want %v", what, i, line[k], j, rows[i][j:min(j+12, len(rows[i]))], ids[i][j:min(j+12, len(ids[i]))])
	}
	t.Errorf("%s: %d of %d differ", what, count, len(rows))
}
