package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFormats: the model reads the dates that the user is told it knows.
func TestFormats(t *testing.T) {
	if len(writers) != len(formats) {
		t.Fatalf("%d writers for %d formats", len(writers), len(formats))
	}
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for i, write := range writers {
		if got := write(day); got != formats[i] {
			t.Errorf("format %d is %q, but written as %q", i, formats[i], got)
		}
	}
	lower := make([]string, len(formats))
	for i, f := range formats {
		lower[i] = strings.ToLower(f)
	}
	answers, err := defaultModel(t).translate(slices.Concat(formats, lower), settings{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if string(a.date) != "2026-11-21" || a.doubt() != "" {
			t.Errorf("%q: %s, %s, doubt: %q", string(a.text), a.answer(), a.confidence(), a.doubt())
		}
	}
}

// A source makes random texts of one kind. right is the date that a text means, or "" if
// it means none.
type source struct {
	kind string
	next func() (text, right string)
}

// sources returns texts in the known formats, and then other kinds.
func sources(m *model, r *rand.Rand) []source {
	day := func(first, last int) time.Time { return anyDay(r, first, last) }
	known := func(d time.Time) string { return known(r, d) }
	write := func(first, last int, write func(time.Time) string) func() (string, string) {
		return func() (string, string) {
			d := day(first, last)
			return write(d), d.Format(time.DateOnly)
		}
	}
	unanswerable := func(next func() string) func() (string, string) {
		return func() (string, string) { return next(), "" }
	}
	some := func(least, most int, characters []rune) string {
		text := make([]rune, least+r.IntN(most-least+1))
		for i := range text {
			text[i] = characters[r.IntN(len(characters))]
		}
		return string(text)
	}
	words := strings.Fields("tomorrow hello last year today a date January monday no idea yesterday the other day noon soon never two days ago")
	return []source{
		{"known formats, 1900 to 2099", write(firstYear, lastYear, known)},
		{"known formats, 1500 to 1899", write(1500, firstYear-1, known)},
		{"known formats, 2100 to 2999", write(lastYear+1, 2999, known)},
		{"known formats, one letter replaced", func() (string, string) {
			d := day(firstYear, lastYear)
			text := []byte(known(d))
			if at := strings.IndexAny(string(text), "abcdefghijlmnoprstuvwy"); at >= 0 {
				for text[at] < 'a' || text[at] > 'y' || r.IntN(4) > 0 {
					at = (at + 1) % len(text)
				}
				text[at] = some(1, 1, []rune("abcdefghijlmnoprstuvwy"))[0]
			}
			return string(text), d.Format(time.DateOnly)
		}},
		{"no such day: 31 April 2032", unanswerable(func() string {
			month := []string{"February", "April", "June", "September", "November"}[r.IntN(5)]
			return fmt.Sprintf("31 %s %d", month, firstYear+r.IntN(lastYear-firstYear+1))
		})},
		{"month first: 11/21/2026", write(firstYear, lastYear, layout("1/2/2006"))},
		{"year first: 2026.11.21", write(firstYear, lastYear, layout("2006.01.02"))},
		{"short year: 21.11.26", write(firstYear, lastYear, layout("2.1.06"))},
		{"short year: 21 Nov 26", write(firstYear, lastYear, layout("2 Jan 06"))},
		{"no year: November 21", unanswerable(func() string { return day(firstYear, lastYear).Format("January 2") })},
		{"no day: November 2026", unanswerable(func() string { return day(firstYear, lastYear).Format("January 2006") })},
		{"words: last year", unanswerable(func() string {
			text := words[r.IntN(len(words))]
			for range r.IntN(3) {
				text += " " + words[r.IntN(len(words))]
			}
			return text
		})},
		{"up to 12 digits", unanswerable(func() string { return some(1, 12, []rune("0123456789")) })},
		{"up to 30 random characters", unanswerable(func() string { return some(1, 30, m.input) })},
	}
}

var textsOfKind = flag.Int("texts", 2000, "number of texts of each kind in TestTrust, a multiple of 100")

// TestTrust measures whether minProbability and the other reasons for doubt separate
// right answers from wrong ones. It logs the table that README.md has, which is of
//
//	go test -v -run TestTrust ./bench/examples/dates -texts 20000
func TestTrust(t *testing.T) {
	m := defaultModel(t)
	texts := *textsOfKind
	if testing.Short() {
		texts = 200
	}
	t.Logf("of %d texts of each kind:", texts)
	t.Logf("%-36s %8s %18s %19s", "kind", "trusted", "trusted but wrong", "median probability")
	for i, s := range sources(m, rand.New(rand.NewPCG(1, 2))) {
		trusted, wrong := 0, 0
		var probabilities []float32
		for len(probabilities) < texts {
			batch, right := make([]string, 100), make([]string, 100)
			for j := range batch {
				batch[j], right[j] = s.next()
			}
			answers, err := m.translate(batch, settings{threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			for j, a := range answers {
				probabilities = append(probabilities, a.probability)
				if a.doubt() == "" {
					trusted++
					if string(a.date) != right[j] {
						wrong++
					}
				}
			}
		}
		slices.Sort(probabilities)
		t.Logf("%-36s %7.2f%% %17.2f%% %19.4f", s.kind, percent(trusted, texts), percent(wrong, texts), probabilities[texts/2])
		if i == 0 && (percent(trusted, texts) < 98 || wrong > 0) {
			t.Errorf("%s: %d of %d answers are trusted and %d of those are wrong", s.kind, trusted, texts, wrong)
		}
		if percent(wrong, texts) > 4 {
			t.Errorf("%s: %d of %d answers are trusted although they are wrong", s.kind, wrong, texts)
		}
	}
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// TestProbability: the probabilities of the next character sum up to 1, and that of the
// likeliest is the largest.
func TestProbability(t *testing.T) {
	m := defaultModel(t)
	e, err := m.encode([]string{"hello", "7.4.2012"}, settings{})
	if err != nil {
		t.Fatal(err)
	}
	d := m.newDecoder(e, settings{})
	if err := d.step([]int{0, 0}); err != nil {
		t.Fatal(err)
	}
	if err := d.softmax(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		p, sum := d.probabilities[i*len(m.output):][:len(m.output)], 0.0
		for _, x := range p {
			sum += float64(x)
		}
		if sum < 1-1e-6 || sum > 1+1e-6 || p[d.likeliest(i)] != slices.Max(p) {
			t.Errorf("text %d: the probabilities %v sum up to %v, character %d is the likeliest", i, p, sum, d.likeliest(i))
		}
	}
}
