package embed

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A search runs the command with a small model and a cache of its own.
type search struct {
	*testing.T
	model, cache string
}

func newSearch(t *testing.T) *search { return &search{t, tinyModel(t), t.TempDir()} }

func (s *search) run(args ...string) (out, report string) {
	s.Helper()
	var o, r bytes.Buffer
	args = append([]string{"-query", "a b", "-model", s.model, "-cache-dir", s.cache}, args...)
	if err := run(s.Context(), args, strings.NewReader(""), &o, &r); err != nil {
		s.Fatalf("%q: %v", args, err)
	}
	return o.String(), r.String()
}

// check expects what a search without a cache gives, and a report.
func (s *search) check(what, wantReport string, args ...string) {
	s.Helper()
	want, _ := s.run(append(args, "-no-cache")...)
	out, report := s.run(args...)
	if out != want || !strings.Contains(report, wantReport) {
		s.Errorf("%s: %q and report %q, want %q and %q", what, out, report, want, wantReport)
	}
}

func (s *search) write(path, text string) {
	s.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		s.Fatal(err)
	}
}

// TestCache: results are the same with a cache and without, for the first search and later ones,
// after changes of a file, of the model, and of the cache itself; only what is new is computed.
func TestCache(t *testing.T) {
	s, folder := newSearch(t), t.TempDir()
	one, two := filepath.Join(folder, "one.txt"), filepath.Join(folder, "two.txt")
	s.write(one, "a\nb c\n\na\nab\n")
	s.write(two, "b c\nc c\n")
	s.check("first", "4 computed, 0 from the cache, 2 repeated", one, two)
	s.check("second", "0 computed, 4 from the cache, 2 repeated", one, two)
	s.check("other order", "0 computed, 4 from the cache, 2 repeated", two, one)
	s.write(one, "a\nb c\nnew\n")
	s.check("changed", "1 computed, 3 from the cache, 1 repeated", one, two)
	s.write(one, "ab\n") // which the last search did not see
	s.check("pruned", "1 computed, 0 from the cache", one)
	s.check("paragraphs", "1 computed, 0 from the cache", one, "-unit", "paragraph")
	s.check("lines again", "0 computed, 1 from the cache", one)

	caches, err := filepath.Glob(filepath.Join(s.cache, "*"))
	if err != nil || len(caches) != 3 {
		t.Fatalf("caches %q, %v, want 3", caches, err)
	}
	for _, name := range caches {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)/2]++
		s.write(name, string(data))
	}
	_, report := s.run(one)
	if !strings.Contains(report, "the cache of "+one+" is damaged and made anew") || !strings.HasPrefix(report, "the cache") {
		t.Errorf("damaged: %q", report)
	}
	s.check("after damage", "0 computed, 1 from the cache", one)

	other := newSearch(t)
	other.cache = s.cache
	vocabulary, err := os.ReadFile(filepath.Join(other.model, "vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	other.write(filepath.Join(other.model, "vocab.txt"), strings.Replace(string(vocabulary), "a\nb\n", "b\na\n", 1))
	other.check("another model", "1 computed, 0 from the cache", two, "-unit", "paragraph")
}

// TestNoCache: where nothing can be kept, a warning says so, and the results are the same. With
// -no-cache, for vectors and for the standard input nothing is kept.
func TestNoCache(t *testing.T) {
	s := newSearch(t)
	path := writeFile(t, "a.txt", "a\nb\n")
	folder := s.cache
	s.cache = writeFile(t, "file", "")
	s.check("no folder", "warning: not all vectors are kept for another run: ", path)
	s.cache = folder
	s.run(path, "-no-cache")
	s.run("-")
	s.run("-text", path)
	var out, report bytes.Buffer
	if err := run(t.Context(), []string{path, "-model", s.model, "-cache-dir", s.cache}, nil, &out, &report); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("kept %v, %v", left, err)
	}
}

// TestShown: binary files are skipped, control characters are escaped, and colours, context and
// longer texts look as documented.
func TestShown(t *testing.T) {
	s, folder := newSearch(t), t.TempDir()
	t.Chdir(folder)
	s.write("binary", "a\x00b\n")
	s.write("text", "c\na b \x1b[31mred\x07\nc c\n\na b\nc")
	if out, report := s.run("binary"); out != "" || !strings.HasPrefix(report, "skipped binary, a binary file\n") {
		t.Errorf("binary: %q, %q", out, report)
	}
	has := func(args, want string) {
		t.Helper()
		out, _ := s.run(append(strings.Fields(args), "-top", "1", "-color", "never", "text")...)
		if !strings.HasSuffix(out, want) || strings.ContainsAny(out, "\x1b\x07") {
			t.Errorf("%s: %q, want %q", args, out, want)
		}
	}
	has("", "text:5: a b\n")
	has("-context 1", "         text-4-\n 1.0000  text:5: a b\n         text-6- c\n")
	has("-unit paragraph -query c", "text:1-3: c a b \\x1b[31mred\\x07 c c\n")
	s.write("long", strings.Repeat("a\n", 300))
	if out, _ := s.run("long", "-unit", "paragraph"); !strings.HasSuffix(out, ":1-300: "+strings.Repeat("a ", 100)+"…\n") {
		t.Errorf("a long paragraph: %q", out)
	}
	has("-unit window", "text:1-3: c a b \\x1b[31mred\\x07 c\n")
	if out, _ := s.run("text", "-top", "1", "-color", "always"); !strings.HasSuffix(out, "\x1b[35mtext\x1b[m\x1b[36m:\x1b[m\x1b[32m5\x1b[m\x1b[36m:\x1b[m a b\n") {
		t.Errorf("colours: %q", out)
	}
	if out, _ := s.run("text", "-top", "9", "-context", "1"); strings.Count(out, "--\n") != 4 || strings.Contains(out, "\x1b") || !strings.Contains(out, `a b \x1b[31mred\x07`) {
		t.Errorf("all: %q", out)
	}
}
