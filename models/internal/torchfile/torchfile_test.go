package torchfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/attn-go/attn/models/folder"
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

// A file of PyTorch is read, and what does not fit is an error.
func TestOpen(t *testing.T) {
	f, err := Open(written)
	if err != nil {
		t.Fatal(err)
	}
	if f.Unused() == nil {
		t.Error("no tensor has been read, and none is unused")
	}
	w, err := f.Float32("weight", 1, 20)
	if err != nil || len(w) != 20 || slices.Max(w) > 1 || slices.Min(w) < -1 || slices.Min(w) == slices.Max(w) {
		t.Errorf("weights %v, %v", w, err)
	}
	if b, err := f.Float32("bias", 1); err != nil || len(b) != 1 || b[0] == 0 {
		t.Errorf("bias %v, %v", b, err)
	}
	if err := f.Unused(); err != nil {
		t.Error(err)
	}
	for _, shape := range [][]int{{20}, {20, 1}, {1, 21}, {}} {
		if _, err := f.Float32("weight", shape...); !errors.As(err, new(*folder.Error)) {
			t.Errorf("shape %v: %v", shape, err)
		}
	}
	if _, err := f.Float32("other", 1); !errors.As(err, new(*folder.Error)) {
		t.Errorf("another tensor: %v", err)
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
	if _, err := parse("f", changed(t, map[string]string{"data.pkl": good})); err != nil {
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
		{"a list", "\x80\x02]q\x00.", "operation"},
		{"no tensor", "\x80\x02}X\x01\x00\x00\x00wK\x01s.", `"w" is no tensor`},
		{"a number for a key", "\x80\x02}K\x01K\x01s.", "key"},
		{"no dictionary", "\x80\x02K\x01.", "something else"},
		{"an empty pickle", "", "ends early"},
		{"an end in a text", "\x80\x02X\xff\xff\xff\x7fab", "ends early"},
		{"no end", "\x80\x02}", "ends early"},
		{"a value that is not kept", "\x80\x02h\x01.", "not there"},
	} {
		_, err := parse("f", changed(t, map[string]string{"data.pkl": x.pickle}))
		if !errors.As(err, new(*folder.Error)) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.name, err, x.want)
		}
	}
	f, err := parse("f", changed(t, map[string]string{"data/0": "short"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Float32("weight", 1, 20); !errors.As(err, new(*folder.Error)) {
		t.Errorf("too few numbers: %v", err)
	}
	for name, data := range map[string][]byte{"big-endian": changed(t, map[string]string{"byteorder": "big"}), "no archive": []byte("\x80\x02}.")} {
		if _, err := parse("f", data); !errors.As(err, new(*folder.Error)) {
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
	file, err := parse(written, data)
	if err != nil {
		f.Fatal(err)
	}
	pickle, err := file.entry("data.pkl")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(pickle)
	f.Add(changed(f, map[string]string{"data.pkl": "\x80\x02}."}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tensors, err := unpickle(data); err == nil {
			for name, x := range tensors {
				if x.at < 0 || x.at > x.storage.n {
					t.Errorf("%q: %+v", name, x)
				}
			}
		}
		file, err := parse("f", data)
		if err != nil {
			return
		}
		for name, x := range file.tensors {
			if v, err := file.Float32(name, x.shape...); err == nil && 2*len(v) > len(data) {
				t.Errorf("%q: %d numbers of %d bytes", name, len(v), len(data))
			}
		}
	})
}
