package contract_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/internal/contracttest"
	"github.com/attn-go/attn/internal/tier"
	"github.com/attn-go/attn/kernel"
)

var (
	update = flag.Bool("update", false, "write vectors/ anew, with generic")
	more   = flag.String("more", "", "write other vectors to this folder: the same calls with other numbers, see -seed")
	seed   = flag.Int("seed", 1, "which numbers -more takes")
)

const folder = "vectors"

// A subject is a file of vectors: the functions that it has, and their cases.
type subject struct {
	name      string
	functions map[string]func(c *call) error
	cases     func() []vector
}

// subjects are all files.
var subjects = []subject{
	{"numbers", numberFunctions, numberCases},
	{"attention", attentionFunctions, attentionCases},
	{"gradients", gradientFunctions, gradientCases},
	{"steps", stepFunctions, stepCases},
	{"linear", linearFunctions, linearCases},
	{"layers", layerFunctions, layerCases},
	{"training", trainingFunctions, trainingCases},
	{"recurrent", recurrentFunctions, recurrentCases},
	{"retrieval", retrievalFunctions, retrievalCases},
	{"modules", moduleFunctions, moduleCases},
}

// others are the files whose functions lie in another module, with the test that writes and checks
// them.
var others = map[string]string{"sampling": "go test ./models/decoder -run Contract"}

// A vector is a call of a function: its arguments, and what it must return.
type vector struct {
	Name     string         `json:"name"`
	Function string         `json:"function"`
	In       map[string]any `json:"in"`
	Out      map[string]any `json:"out"`
}

// A file has all vectors of a subject.
type file struct {
	Contract int      `json:"contract"`
	Subject  string   `json:"subject"`
	Vectors  []vector `json:"vectors"`
}

// run computes what a vector must return, on the default tier.
func (s *subject) run(v *vector) (map[string]any, error) {
	f := s.functions[v.Function]
	if f == nil {
		return nil, fmt.Errorf("no function %q", v.Function)
	}
	c := &call{in: v.In, out: map[string]any{}}
	if err := f(c); err != nil {
		return nil, err
	}
	return c.out, c.err
}

// computed returns the file of a subject, computed by the generic tier, as bytes: a vector a line,
// whose keys are sorted.
func (s *subject) computed(t *testing.T) []byte {
	contracttest.SetDefault(t, &tier.Tiers[len(tier.Tiers)-1], nil)
	f := bytes.NewBufferString(fmt.Sprintf("{\"contract\": %d, \"subject\": %q, \"vectors\": [\n", kernel.Contract, s.name))
	for i, v := range s.cases() {
		out, err := s.run(&v)
		if err != nil {
			t.Fatalf("%s/%s: %v", s.name, v.Name, err)
		}
		v.Out = out
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			f.WriteString(",\n")
		}
		f.Write(line)
	}
	f.WriteString("\n]}\n")
	return f.Bytes()
}

// path returns where the file of a subject lies.
func (s *subject) path() string { return filepath.Join(folder, s.name+".json") }

// TestMoreVectors writes vectors for check.py, if it is asked to, and computes them on every tier:
// as many as one likes, while the folder has room for few.
func TestMoreVectors(t *testing.T) {
	shift = *seed << 20
	defer func() { shift = 0 }()
	var sums strings.Builder
	for i := range subjects {
		s := &subjects[i]
		data := s.computed(t)
		contracttest.EachDefault(t, func(t *testing.T) { s.check(t, parse(t, s.name, data).Vectors) })
		if *more != "" {
			if err := os.WriteFile(filepath.Join(*more, s.name+".json"), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&sums, "%x  %s.json\n", sha256.Sum256(data), s.name)
	}
	if *more != "" {
		if err := os.WriteFile(filepath.Join(*more, "SHA256SUMS"), []byte(sums.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// read returns the vectors of a subject from its file.
func (s *subject) read(t *testing.T) file {
	data, err := os.ReadFile(s.path())
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, s.path(), data)
}

func parse(t *testing.T, name string, data []byte) (f file) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&f); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

// check compares the results of vectors on the default tier.
func (s *subject) check(t *testing.T, list []vector) {
	for k := range list {
		v := &list[k]
		got, err := s.run(v)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		for _, what := range differences(got, v.Out) {
			t.Errorf("%s: %s", v.Name, what)
		}
	}
}

// TestVectorFiles: the committed files are what the generic tier computes, and SHA256SUMS has their
// hashes. With -update it writes them.
func TestVectorFiles(t *testing.T) {
	sums := ""
	for i := range subjects {
		s := &subjects[i]
		want := s.computed(t)
		if *update {
			if err := os.WriteFile(s.path(), want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(s.path())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generic tier computes (error: %v); -update writes it, if the contract has changed", s.path(), err)
		}
		sums += fmt.Sprintf("%x  %s.json\n", sha256.Sum256(got), s.name)
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		data, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			t.Errorf("%v; %s -args -update writes it", err, others[name])
		}
		sums += fmt.Sprintf("%x  %s.json\n", sha256.Sum256(data), name)
	}
	path := filepath.Join(folder, "SHA256SUMS")
	if *update {
		if err := os.WriteFile(path, []byte(sums), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != sums {
		t.Errorf("%s does not have the hashes of the files (error: %v):\n%s", path, err, sums)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != len(subjects)+len(others) {
		t.Errorf("%d files of vectors for %d subjects (error: %v)", len(files), len(subjects)+len(others), err)
	}
}

// TestVectors: every tier gives the committed results, and every function has a vector.
func TestVectors(t *testing.T) {
	for i := range subjects {
		s := &subjects[i]
		f := s.read(t)
		if f.Contract != kernel.Contract || f.Subject != s.name {
			t.Errorf("%s is of contract %d and subject %q", s.path(), f.Contract, f.Subject)
		}
		used := map[string]bool{}
		names := map[string]bool{}
		for k := range f.Vectors {
			used[f.Vectors[k].Function] = true
			if names[f.Vectors[k].Name] {
				t.Errorf("%s has two vectors %q", s.path(), f.Vectors[k].Name)
			}
			names[f.Vectors[k].Name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(s.functions)) {
			if !used[name] {
				t.Errorf("%s has no vector of %s", s.path(), name)
			}
		}
		t.Run(s.name, func(t *testing.T) {
			contracttest.EachDefault(t, func(t *testing.T) { s.check(t, f.Vectors) })
		})
	}
}

// TestVectorFault: one bit of a result that is another one is found, and so is a result that is
// missing.
func TestVectorFault(t *testing.T) {
	s := &subjects[0]
	f := s.read(t)
	for _, v := range f.Vectors {
		got, err := s.run(&v)
		if err != nil || len(differences(got, v.Out)) != 0 {
			t.Fatalf("%s: error %v, differences %v", v.Name, err, differences(got, v.Out))
		}
		for name := range got {
			x := got[name].(tensor)
			last := "1"
			if strings.HasSuffix(x.Bits, "1") {
				last = "0"
			}
			got[name] = tensor{x.Type, x.Shape, x.Bits[:len(x.Bits)-1] + last}
			if len(differences(got, v.Out)) != 1 {
				t.Errorf("%s: a wrong bit of %s is not found", v.Name, name)
			}
			delete(got, name)
			if len(differences(got, v.Out)) == 0 {
				t.Errorf("%s: that %s is missing is not found", v.Name, name)
			}
			got[name] = x
		}
	}
}

// differences says which results are not those that are wanted.
func differences(got, want map[string]any) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w, err := tensorOf(want[name])
		if err != nil {
			list = append(list, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		g, ok := got[name].(tensor)
		if !ok {
			list = append(list, name+" is missing")
			continue
		}
		if g.Type != w.Type || !slices.Equal(g.Shape, w.Shape) || len(g.Bits) != len(w.Bits) {
			list = append(list, fmt.Sprintf("%s is %s %v, want %s %v", name, g.Type, g.Shape, w.Type, w.Shape))
			continue
		}
		if g.Bits != w.Bits {
			digits := digitsOf(w.Type)
			wrong, first := 0, -1
			for i := 0; i < len(w.Bits); i += digits {
				if g.Bits[i:i+digits] != w.Bits[i:i+digits] {
					if wrong++; first < 0 {
						first = i
					}
				}
			}
			list = append(list, fmt.Sprintf("%s: %d of %d differ, the first is number %d: %s, want %s",
				name, wrong, len(w.Bits)/digits, first/digits, g.Bits[first:first+digits], w.Bits[first:first+digits]))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			list = append(list, name+" is not wanted")
		}
	}
	return list
}
