package results

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fill sets all fields of a value to something other than zero.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.String:
		v.SetString(fmt.Sprintf("<é&\"%d>", *n))
	case reflect.Int:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 1.0/3)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic("unknown kind " + v.Kind().String())
	}
}

// full returns a file with all fields set.
func full() *File {
	f := new(File)
	n := 0
	fill(reflect.ValueOf(f).Elem(), &n)
	f.Format, f.Schema, f.Contract, f.Groups = Format, Schema, 2, nil
	for i := range f.Curves {
		slices.Sort(f.Curves[i].X)
	}
	return f
}

// A file that is written and read again is the same.
func TestRoundTrip(t *testing.T) {
	want := full()
	path := filepath.Join(t.TempDir(), "x.json")
	if err := want.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want.Path = path
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 1 {
		t.Errorf("%q are left, %v", left, err)
	}
}

// names collects the JSON names and types of a struct's fields.
func names(b *strings.Builder, t reflect.Type, indent string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			names(b, f.Type, indent)
			continue
		}
		e := f.Type
		for e.Kind() == reflect.Slice || e.Kind() == reflect.Pointer {
			e = e.Elem()
		}
		fmt.Fprintf(b, "%s%s %v\n", indent, name, f.Type)
		if e.Kind() == reflect.Struct {
			names(b, e, indent+"  ")
		}
	}
}

// testdata/schema3.txt has the form. If this fails because a field was added, write the file anew
// with UPDATE=1; if a field has gone or changed, increment Schema as well.
func TestSchema(t *testing.T) {
	var b strings.Builder
	names(&b, reflect.TypeFor[File](), "")
	path := fmt.Sprintf("testdata/schema%d.txt", Schema)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || b.String() != string(want) {
		t.Errorf("the schema is not that of %s (%v):\n%s", path, err, &b)
	}
}

// Every field says in a comment what it is, and in its tag how it is called.
func TestFieldsAreNamed(t *testing.T) {
	var b strings.Builder
	names(&b, reflect.TypeFor[File](), "")
	for l := range strings.Lines(b.String()) {
		name, _, _ := strings.Cut(strings.TrimSpace(l), " ")
		if name == "" || name != strings.ToLower(name) {
			t.Errorf("a field has the name %q in %q", name, l)
		}
	}
}

// write returns the bytes of a file.
func write(t *testing.T, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A file that is cut off anywhere gives an error that names it.
func TestTruncated(t *testing.T) {
	whole := write(t, full())
	for _, n := range []int{0, 1, 100, len(whole) / 2, len(whole) - 3} {
		_, err := Parse("cut.json", whole[:n])
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "cut.json: ends after") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                 "x.json",
		`{"format": "other"}`:                `format "other", want "attn-bench"`,
		`{"format": 3}`:                      "x.json",
		`{"format":"attn-bench"}`:            "schema 0, want 1",
		`{"format":"attn-bench","schema":1}`: "contract 0",
		`{"format":"attn-bench","schema":1,"contract":2,"machine":{"cpu":"x"},"tiers":[{"name":"generic"}],"speed":[{"threads":1}]}`:           "speed 0",
		`{"format":"attn-bench","schema":1,"contract":2,"machine":{"cpu":"x"},"tiers":[{"name":"generic"}],"backward":[{"ns":1,"threads":1}]}`: "backward 0",
		`{"format":"attn-bench","schema":3,"contract":2,"machine":{"cpu":"x"},"tiers":[{"name":"generic"}],"curves":[{"x":[1,2],"ns":[1]}]}`:   "curve 0",
	} {
		_, err := Parse("x.json", []byte(text))
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A newer schema is refused by its number, whatever else it has.
func TestNewerSchema(t *testing.T) {
	_, err := Parse("new.json", []byte(`{"format":"attn-bench","schema":99,"speed":"elsewhere"}`))
	if err == nil || !strings.Contains(err.Error(), "new.json: schema 99, want 1 to 3") {
		t.Errorf("%v", err)
	}
}

// TestContractsDiffer: the bits of files of an older contract are not compared, which is said.
func TestContractsDiffer(t *testing.T) {
	a, b := hashed("A", "1"), hashed("A", "2")
	a.Path, a.Contract, b.Contract = "x/a.json", 2, 3
	got := Agree([]*File{a, b, b})
	if want := "All 2 machines agree: the same bits in 1 outputs, computed 2 times. Not compared, as the contract is now 3: a.json of contract 2."; !got.Agree || got.Line != want {
		t.Errorf("%+v, want %q", got, want)
	}
	b.Path = "x/b.json"
	if got, want := Agree([]*File{b, a}).Line, "All tiers and numbers of threads of b.json agree: "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	failed := &File{Contract: 2, Checks: []Check{{Name: "x", Failures: []string{"y"}}}}
	differs, other := hashed("C", "1", "2"), hashed("A", "3")
	differs.Contract, other.Contract = 2, 2
	for line, older := range map[string][]*File{"1 checks failed.": {failed}, "1 of 1 outputs: C.": {differs}, "1 of 1 outputs: A.": {a, other}} {
		if got := Agree(append(older, b, b)); got.Agree || !got.Wrong || len(got.Names) != 1 || !strings.Contains(got.Line, "All 2 machines agree") || !strings.HasSuffix(got.Line, line) {
			t.Errorf("%+v, want %q", got, line)
		}
	}
	if outputs := Outputs([]*File{a, b}); len(outputs) != 1 || outputs[0].Hashes[0] != nil || len(outputs[0].Hashes[1]) != 1 {
		t.Errorf("%+v", outputs)
	}
	if err := SameContract("b.json", 3, "a.json", 2); err == nil || !strings.HasPrefix(err.Error(), "b.json is of contract 3, a.json of contract 2: ") {
		t.Error(err)
	}
}

// hashed returns a file with one output.
func hashed(name string, hashes ...string) *File {
	f := &File{}
	for _, h := range hashes {
		f.Speed = append(f.Speed, Speed{Shape: name, SHA256: h})
	}
	return f
}

func TestAgree(t *testing.T) {
	a, b := hashed("A", "1", "1"), hashed("A", "2")
	for _, c := range []struct {
		files []*File
		agree bool
		line  string
	}{
		{[]*File{a}, true, "All tiers and numbers of threads of this machine agree: the same bits in 1 outputs, computed 2 times."},
		{[]*File{a, a, a}, true, "All 3 machines agree: the same bits in 1 outputs, computed 6 times."},
		{[]*File{a, {Speed: append(hashed("B", "7").Speed, a.Speed...)}}, true, "All 2 machines agree: the same bits in 1 outputs, computed 4 times."},
		{[]*File{a, a, b}, false, "The bits DIFFER in 1 of 1 outputs: A."},
		{[]*File{hashed("A", "1", "2")}, false, "The bits DIFFER"},
		{[]*File{a, a, hashed("B", "1")}, false, "The bits of 1 of 3 machines were not compared"},
		{[]*File{hashed("A")}, false, "The bits of 1 of 1 machines were not compared"},
		{[]*File{{Checks: []Check{{Name: "x", Hashes: []Hash{{SHA256: "1"}}, Failures: []string{"y"}}}}}, false, "The bits DIFFER: 1 checks failed."},
	} {
		if got := Agree(c.files); got.Agree != c.agree || !strings.HasPrefix(got.Line, c.line) {
			t.Errorf("%+v, want %q", got, c.line)
		}
	}
}

func TestWeakThreads(t *testing.T) {
	f := &File{Peaks: []Peak{{"avx2", 1, 100, 0}, {"avx2", 2, 140, 0}, {"avx2", 4, 320, 0}}}
	if weak := f.WeakThreads(); len(weak) != 1 || weak[0].Threads != 2 {
		t.Errorf("%+v", weak)
	}
	for i := range 2 { // nothing is said of peaks that varied
		f.Peaks[i].Spread = 0.4
		if weak := f.WeakThreads(); len(weak) != 0 {
			t.Errorf("%+v", weak)
		}
		f.Peaks[i].Spread = 0
	}
	others := 30.0 // nor of peaks of a machine that was busy with other things
	if f.Machine.OthersPercent = &others; len(f.WeakThreads()) != 0 {
		t.Errorf("%+v", f.WeakThreads())
	}
}

func TestVerdict(t *testing.T) {
	f := &File{Tiers: []Tier{{Name: "avx2", Default: true}}, Machine: Machine{L3: 100},
		Speed: []Speed{{Shape: "p", Tier: "avx2", Threads: 1, Flops: 9}, {Shape: "p", Tier: "avx2", Threads: 2, Flops: 9}, {Shape: "q", Tier: "avx2", Threads: 1, Flops: 8},
			{Shape: "p", Tier: "generic", Threads: 1, Flops: 9}, {Shape: "c", Alias: "C", Tier: "avx2", Threads: 2, Flops: 1, Bytes: 200, Timing: Timing{Ns: 20}}}}
	v := f.Verdict()
	if v.Prefill != &f.Speed[0] || v.PrefillThreads != &f.Speed[1] || v.DecodeThreads != 0 {
		t.Errorf("%+v", v)
	}
	f.Speed[0].Timing = Timing{Ns: 10, Q1: 5, Q3: 15}
	if v := f.Verdict(); v.Prefill != &f.Speed[2] || v.PrefillThreads != nil {
		t.Errorf("with an unsteady time of the largest call: %+v", v)
	}
	f.Speed[0].Timing = Timing{}
	f.Speed[4].Read = 20
	if v := f.Verdict(); v.DecodePercent != 50 || v.DecodeRead != 20 || v.DecodeDoubt != "" || v.DecodeThreads != 2 {
		t.Errorf("%+v", v)
	}
	f.Speed[4].ReadSpread = 0.3
	if v := f.Verdict(); v.DecodeDoubt != "reading varied by 30%" {
		t.Errorf("%+v", v)
	}
	f.Decode = []Decode{{Level: "memory", Type: "float32", Tier: "avx2", Threads: 1, ReadPercent: 77}}
	if v := f.Verdict(); v.DecodePercent != 77 {
		t.Errorf("%+v", v)
	}
}
