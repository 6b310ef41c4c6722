package corpus

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// all reads an input to its end.
func all(t *testing.T, r *Reader) (records []Record) {
	t.Helper()
	defer r.Close()
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
}

func read(t *testing.T, format Format, maxText int, input string) []Record {
	t.Helper()
	r, err := Open([]string{"-"}, Options{Format: format, MaxText: maxText, Stdin: strings.NewReader(input)})
	if err != nil {
		t.Fatal(err)
	}
	return all(t, r)
}

func TestLines(t *testing.T) {
	got := read(t, Auto, 5, "one\r\n\n12345\n123456\n\xff\n12345\r\nlast")
	want := []Record{
		{Text: "one", Source: "stdin:1", Bytes: 5},
		{Source: "stdin:2", Bytes: 1},
		{Text: "12345", Source: "stdin:3", Bytes: 6},
		{Source: "stdin:4", Bytes: 7, Reason: "too large: 7 bytes, at most 5 are permitted"},
		{Source: "stdin:5", Bytes: 2, Reason: "not UTF-8"},
		{Text: "12345", Source: "stdin:6", Bytes: 7},
		{Text: "last", Source: "stdin:7", Bytes: 4},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestJSONLines(t *testing.T) {
	for line, want := range map[string]Record{
		`{"text": "a\u00e9", "id": 7, "more": [1]}`: {Text: "aé", ID: "7"},
		`{"id": "x\"y", "text": ""}`:                {ID: `"x\"y"`},
		`{"id": null, "text": "a"}`:                 {Text: "a"},
		` "bare" `:                                  {Text: "bare"},
		`{"text": "a"`:                              {Reason: "not JSON"},
		`{"text": "a"} {}`:                          {Reason: "not JSON"},
		`null`:                                      {Reason: "neither an object nor a string"},
		`["a"]`:                                     {Reason: "neither an object nor a string"},
		`{"Text": "a"}`:                             {Reason: "text: missing"},
		`{"text": null}`:                            {Reason: "text: not a string"},
		`{"text": "a", "id": [1]}`:                  {Reason: "id: neither a string nor a number"},
		`{"text": "a", "id": "` + strings.Repeat("x", maxID) + `"}`: {Reason: "id: 1026 bytes, at most 1024 are permitted"},
		"{\"text\": \"\xff\"}":                        {Reason: "not UTF-8"},
		`{"text": "` + strings.Repeat("x", 21) + `"}`: {Reason: "too large: 21 bytes, at most 20 are permitted"},
		`"` + strings.Repeat("x", 1e5) + `"`:          {Reason: "too large: a line of 100003 bytes, at most 4216 are permitted"},
	} {
		got := read(t, JSONL, 20, "\n"+line+"\n\n\n")
		if len(got) != 1 {
			t.Errorf("%.40q: %d records, want 1", line, len(got))
			continue
		}
		want.Source, want.Bytes = "stdin:2", int64(len(line))+2
		if want.Reason != "" && want.ID == "" {
			got[0].ID = "" // a record with a bad text may have one
		}
		if got[0] != want {
			t.Errorf("%.40q: got %+v, want %+v", line, got[0], want)
		}
	}
}

// TestFolder expects the files in the order of their paths, each one text but for JSON lines.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b.txt": "b\nb\n", "a/z.md": "z", "a.jsonl": `"1"` + "\n" + `"2"`, "c.txt": "123456789"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open([]string{dir, filepath.Join(dir, "b.txt")}, Options{MaxText: 8})
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes() != 4+1+7+9+4 {
		t.Errorf("%d bytes, want 25", r.Bytes())
	}
	var got []string
	for _, x := range all(t, r) {
		got = append(got, strings.TrimPrefix(x.Source, filepath.ToSlash(dir)+"/")+"="+x.Text+x.Reason)
	}
	want := []string{"a/z.md=z", "a.jsonl:1=1", "a.jsonl:2=2", "b.txt=b\nb\n", "c.txt=too large: 9 bytes, at most 8 are permitted", "b.txt:1=b", "b.txt:2=b"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOpenErrors expects a wrong path to be found before anything is read.
func TestOpenErrors(t *testing.T) {
	if _, err := Open([]string{"-", filepath.Join(t.TempDir(), "none")}, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

// FuzzNext expects records within the limits, whose bytes equal the input's.
func FuzzNext(f *testing.F) {
	f.Add("a\n\xff\r\n{\"text\": 1}\n\n\"x\"", true)
	f.Add(strings.Repeat("\r\n", 20), false)
	f.Fuzz(func(t *testing.T, input string, isJSON bool) {
		format := Lines
		if isJSON {
			format = JSONL
		}
		var bytes int64
		for _, x := range read(t, format, 10, input) {
			bytes += x.Bytes
			if len(x.Text) > 10 || (x.Reason != "" && x.Text != "") {
				t.Errorf("%+v is not within the limits", x)
			}
		}
		if bytes > int64(len(input)) || (!isJSON && bytes != int64(len(input))) {
			t.Errorf("%d bytes of %d", bytes, len(input))
		}
	})
}
