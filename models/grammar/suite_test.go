package grammar

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/gguf"
	"github.com/attn-go/attn/models/internal/testweights"
	"github.com/attn-go/attn/models/tokenizer"
)

var (
	suites = flag.String("schemas", "", "`folder` of *.jsonl.gz with lines of {name, schema, tests: [{text, valid}]}, for TestSuites")
	causes = flag.Int("causes", 20, "how many schemas TestSuites names that do not pass, of each file")
	every  = flag.Int("every", 1, "TestSuites takes one schema of so many")
	timed  = flag.Bool("masks", false, "TestSuites follows valid texts by SmolLM2's tokens and times the masks")
)

// A suiteCase is a schema with texts that it takes or refuses.
type suiteCase struct {
	Name, Schema string
	Tests        []struct {
		Text  string
		Valid bool
	}
}

// TestSuites tries schemas of others, such as MaskBench and the standard's test suite, which are
// not part of this project:
//
//	go test ./models/grammar -run TestSuites -v -args -schemas DIR -masks
//
// A schema passes if it is taken, with all of its valid texts and none of the others. That
// one has an invalid text fails the test.
func TestSuites(t *testing.T) {
	if *suites == "" {
		t.Skip("NOT RUN: no -schemas DIR")
	}
	files, err := filepath.Glob(filepath.Join(*suites, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no *.jsonl.gz, %v", *suites, err)
	}
	var follow func(g *Grammar, text string) ([]time.Duration, error)
	if *timed {
		follow = follower(t)
	}
	for _, file := range files {
		runSuite(t, file, follow)
	}
}

// readSuite reads the cases of a file.
func readSuite(t *testing.T, name string) (list []suiteCase) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var x suiteCase
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func runSuite(t *testing.T, file string, follow func(*Grammar, string) ([]time.Duration, error)) {
	list := readSuite(t, file)
	passed, named := 0, 0
	found := map[string]int{}
	var compiling, masks []time.Duration
	name := func(cause, what string) {
		if found[cause]++; named < *causes {
			named++
			t.Logf("%s: %s", cause, what)
		}
	}
next:
	for i, x := range list {
		if i%*every != 0 {
			continue
		}
		begin := time.Now()
		g, err := FromSchema([]byte(x.Schema))
		if d := time.Since(begin); d > 300*time.Millisecond {
			t.Logf("%s: compiled in %v, %v", x.Name, d, err)
		}
		compiling = append(compiling, time.Since(begin))
		if err != nil {
			name(cause(err), fmt.Sprintf("%s: %.200v", x.Name, err))
			continue
		}
		for _, test := range x.Tests {
			begin := time.Now()
			ok, err := g.Match(test.Text)
			if d := time.Since(begin); d > 300*time.Millisecond {
				t.Logf("%s: %.100s matched in %v", x.Name, test.Text, d)
			}
			switch {
			case err != nil:
				name(cause(err), x.Name)
				continue next
			case ok && !test.Valid:
				t.Errorf("%s: %.300s has %.100s", x.Name, x.Schema, test.Text)
				found["an invalid text is taken"]++
				continue next
			case !ok && test.Valid:
				name("a valid text is refused", fmt.Sprintf("%s: %.1200s has no %.300s", x.Name, x.Schema, test.Text))
				continue next
			}
			if test.Valid && follow != nil {
				times, err := follow(g, test.Text)
				if err != nil {
					t.Errorf("%s: %s: %v", x.Name, test.Text, err)
				}
				if len(times) > 0 {
					if d := slices.Max(times); d > 100*time.Millisecond {
						t.Logf("%s: a mask in %v", x.Name, d)
					}
				}
				masks = append(masks, times...)
			}
		}
		passed++
	}
	t.Logf("%s: %d of %d schemas pass, %.1f%%", filepath.Base(file), passed, len(compiling), 100*float64(passed)/float64(len(compiling)))
	for _, cause := range slices.SortedFunc(maps.Keys(found), func(a, b string) int { return found[b] - found[a] }) {
		t.Logf("%5d %s", found[cause], cause)
	}
	t.Logf("compiling: %s", distribution(compiling))
	t.Logf("masks: %s", distribution(masks))
}

var numerals = regexp.MustCompile(`[0-9]+`)

// cause returns what an error is about, without where.
func cause(err error) string {
	var s *kernel.Error
	if errors.As(err, &s) && s.Kind != ErrLimit {
		return fmt.Sprintf("refused: %.60s: %.60s", filepath.Base(s.Where), numerals.ReplaceAllString(s.Want, "N"))
	}
	return fmt.Sprintf("refused: %.100v", err)
}

func distribution(list []time.Duration) string {
	if len(list) == 0 {
		return "none"
	}
	slices.Sort(list)
	var sum time.Duration
	for _, d := range list {
		sum += d
	}
	return fmt.Sprintf("%d, mean %v, median %v, p99 %v, most %v", len(list), sum/time.Duration(len(list)), list[len(list)/2], list[len(list)*99/100], list[len(list)-1])
}

// follower returns a function that gives the time for the mask before each token of a text.
func follower(t *testing.T) func(g *Grammar, text string) ([]time.Duration, error) {
	f, err := gguf.Open(testweights.Path(t, testweights.SmolLM2))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tok, err := tokenizer.FromGGUF(f)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]byte
	for id := range int32(tok.Len()) {
		list = append(list, tok.TokenBytes(id))
	}
	v := NewVocabulary(list)
	return func(g *Grammar, text string) (times []time.Duration, err error) {
		x, err := g.Matcher(v)
		if err != nil {
			return nil, err
		}
		for _, id := range tok.Encode(text, tokenizer.Options{}) {
			begin := time.Now()
			if _, err := x.Mask(); err != nil {
				return times, err
			}
			times = append(times, time.Since(begin))
			if err := x.Accept(id); err != nil {
				return times, err
			}
		}
		if !x.MayEnd() {
			return times, errors.New("the text may not end")
		}
		return times, nil
	}
}
