package torchfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/safetensors"
)

// Two files of PyTorch with the same tensors, one in the form before version 1.6, and these in the
// form of safetensors.
const (
	zipped   = "../../testdata/folders/binary/pytorch_model.bin"
	old      = "../../testdata/folders/binary-old/pytorch_model.bin"
	original = "../../testdata/folders/embedder/model.safetensors"
)

const written = "../../testdata/tiny/bge-m3-25/sparse_linear.pt"

// changed returns the file with other contents of some entries, by the ends of their names.
func changed(t testing.TB, entries map[string]string) []byte {
	r, err := zip.OpenReader(written)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range r.File {
		from, err := e.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		for end, text := range entries {
			if strings.HasSuffix(e.Name, end) {
				data = []byte(text)
			}
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: e.Name, Method: zip.Store})
		if err == nil {
			_, err = to.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// parsed is Read of bytes.
func parsed(data []byte) (map[string]safetensors.Info, error) {
	return Read(bytes.NewReader(data), int64(len(data)))
}

// TestRead: a file of PyTorch is read.
func TestRead(t *testing.T) {
	data, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parsed(data)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d tensors, %v", len(all), err)
	}
	w, b := all["weight"], all["bias"]
	if raw := data[w.Begin:w.End]; w.DType != "F16" || !slices.Equal(w.Shape, []int{1, 20}) || len(raw) != 40 || slices.Max(raw) == slices.Min(raw) {
		t.Errorf("weights %v of %v", raw, w)
	}
	if raw := data[b.Begin:b.End]; len(raw) != 2 || raw[0] == 0 && raw[1] == 0 {
		t.Errorf("bias %v", raw)
	}
}

// TestForms: both forms of files have the tensors that were written.
func TestForms(t *testing.T) {
	want, err := safetensors.Open(original)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	for _, path := range []string{zipped, old} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := parsed(data)
		if err != nil {
			t.Fatal(err)
		}
		if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, want.Names()) {
			t.Fatalf("%s: tensors %q", path, names)
		}
		for name, got := range all {
			raw, err := want.Raw(name)
			if info, _ := want.Info(name); err != nil || got.DType != info.DType || !slices.Equal(got.Shape, info.Shape) || !bytes.Equal(data[got.Begin:got.End], raw) {
				t.Errorf("%s: %s: other numbers, %v", path, name, err)
			}
		}
	}
}

// TestOldErrors: a file in the form before version 1.6 that ends early, or says otherwise how many
// numbers there are, is an error.
func TestOldErrors(t *testing.T) {
	data, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{len(oldBegin), 100, 1000, len(data) / 2, len(data) - 1} {
		if _, err := parsed(data[:n]); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%d of %d bytes: %v", n, len(data), err)
		}
	}
	big := bytes.Replace(data, []byte("little_endianq\x02\x88"), []byte("little_endianq\x02\x89"), 1)
	if _, err := parsed(big); !errors.As(err, new(*kernel.Error)) || !strings.Contains(err.Error(), "little-endian") {
		t.Errorf("big-endian: %v", err)
	}
	at := len(data) - 4*8 - 8 // the last storage is a row of 8 numbers
	other := slices.Clone(data)
	other[at]++
	if _, err := parsed(other); !errors.As(err, new(*kernel.Error)) || !strings.Contains(err.Error(), "numbers") {
		t.Errorf("another number of numbers: %v", err)
	}
}

// No function but the known ones is called, and nothing is taken for what it is not.
func TestErrors(t *testing.T) {
	half := "ctorch\nHalfStorage\n"
	storage := "(X\x07\x00\x00\x00storage" + half + "X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x14tQ"
	with := func(offset, shape, strides string) string {
		return "\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + shape + strides + "\x89tRs."
	}
	good := with("K\x00", "K\x04K\x05\x86", "K\x05K\x01\x86")
	if _, err := parsed(changed(t, map[string]string{"data.pkl": good})); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ name, pickle, want string }{
		{"a call of a program", "\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.", `"os system"`},
		{"another function of torch", "\x80\x02ctorch\nload\nX\x01\x00\x00\x00x\x85R.", `"torch load"`},
		{"a storage of another module", strings.Replace(good, half, "cos\nHalfStorage\n", 1), "os HalfStorage"},
		{"another operation", "\x80\x02(io\n.", "operation 0x69"},
		{"another protocol", "\x80\x04}.", "protocol 4"},
		{"columns", with("K\x00", "K\x04K\x05\x86", "K\x01K\x04\x86"), "stride"},
		{"too many numbers", with("K\x00", "K\x05K\x05\x86", "K\x05K\x01\x86"), "25 numbers in a storage of 20"},
		{"an offset", with("K\x01", "K\x04K\x05\x86", "K\x05K\x01\x86"), "storage of 20"},
		{"a negative offset", with("J\xff\xff\xff\xff", "K\x01\x85", "K\x01\x85"), "not described"},
		{"a negative size", with("K\x00", "J\xff\xff\xff\xff\x85", "K\x01\x85"), "not described"},
		{"a list", "\x80\x02]q\x00.", "something else"},
		{"items of no list", "\x80\x02}(K\x01e.", "something else than a list"},
		{"an item of nothing", "\x80\x02K\x01a.", "not there"},
		{"two values", "\x80\x02}}.", "more than one value"},
		{"no tensor", "\x80\x02}X\x01\x00\x00\x00wK\x01s.", `"w" is no tensor`},
		{"a number for a key", "\x80\x02}K\x01K\x01s.", "key"},
		{"no dictionary", "\x80\x02K\x01.", "something else"},
		{"an empty pickle", "", "ends early"},
		{"an end in a text", "\x80\x02X\xff\xff\xff\x7fab", "ends early"},
		{"no end", "\x80\x02}", "ends early"},
		{"a value that is not kept", "\x80\x02h\x01.", "not there"},
	} {
		_, err := parsed(changed(t, map[string]string{"data.pkl": x.pickle}))
		if !errors.As(err, new(*kernel.Error)) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.name, err, x.want)
		}
	}
	parameter := strings.Replace(strings.Replace(good, "ctorch._utils\n_rebuild_tensor_v2", "ctorch._utils\n_rebuild_parameter\n(ctorch._utils\n_rebuild_tensor_v2", 1), "\x89tRs.", "\x89tR\x88ccollections\nOrderedDict\n)RtRs.", 1)
	if _, err := parsed(changed(t, map[string]string{"data.pkl": parameter})); err != nil {
		t.Errorf("a parameter of a module: %v", err)
	}
	if _, err := parsed(changed(t, map[string]string{"data/0": "short"})); !errors.As(err, new(*kernel.Error)) {
		t.Errorf("too few numbers: %v", err)
	}
	for name, data := range map[string][]byte{"big-endian": changed(t, map[string]string{"byteorder": "big"}), "no archive": []byte("\x80\x02}.")} {
		if _, err := parsed(data); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Tuples that hold each other again and again take no time.
func TestNested(t *testing.T) {
	nested := ")" + strings.Repeat("q\x00h\x00\x86", 10_000)
	for _, pickle := range []string{"\x80\x02" + nested + ".", "\x80\x02}" + nested + "K\x01s."} {
		if _, err := unpickle([]byte(pickle)); err == nil {
			t.Error("no error")
		}
	}
}

// FuzzParse: any pickle and any storage are tensors or an error.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile(written)
	if err != nil {
		f.Fatal(err)
	}
	r := bytes.NewReader(data)
	z, err := zip.NewReader(r, r.Size())
	if err != nil {
		f.Fatal(err)
	}
	pickle, err := z.Open("sparse_linear/data.pkl")
	if err != nil {
		f.Fatal(err)
	}
	text, err := io.ReadAll(pickle)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	before, err := os.ReadFile(old)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(before)
	f.Add(text)
	f.Add(changed(f, map[string]string{"data.pkl": "\x80\x02}."}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tensors, err := unpickle(data); err == nil {
			for name, x := range tensors {
				if x.at < 0 || x.at > x.storage.n {
					t.Errorf("%q: %+v", name, x)
				}
			}
		}
		all, err := parsed(data)
		if err != nil {
			return
		}
		for name, x := range all {
			if x.Begin < 0 || x.End < x.Begin || x.End > int64(len(data)) {
				t.Errorf("%q: bytes %d to %d of %d", name, x.Begin, x.End, len(data))
			}
		}
	})
}
