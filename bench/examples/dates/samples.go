package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// writers write a day in each of the formats, in the same order.
var writers = []func(d time.Time) string{
	layout("Monday, January 2, 2006"),
	layout("Monday 2 January 2006"),
	func(d time.Time) string { return d.Format("January 2") + ordinal(d.Day()) + d.Format(", 2006") },
	func(d time.Time) string { return d.Format("the 2") + ordinal(d.Day()) + d.Format(" of January 2006") },
	layout("2 January 2006"),
	layout("2 Jan 2006"),
	layout("Jan 2 2006"),
	layout("2/Jan/2006"),
	layout("2.1.2006"),
}

func layout(l string) func(time.Time) string {
	return func(d time.Time) string { return d.Format(l) }
}

// ordinal returns the suffix of a day's number.
func ordinal(day int) string {
	if day/10 != 1 {
		switch day % 10 {
		case 1:
			return "st"
		case 2:
			return "nd"
		case 3:
			return "rd"
		}
	}
	return "th"
}

// anyDay returns a random day of the years from first to last.
func anyDay(r *rand.Rand, first, last int) time.Time {
	from := time.Date(first, 1, 1, 0, 0, 0, 0, time.UTC)
	to := time.Date(last+1, 1, 1, 0, 0, 0, 0, time.UTC)
	return from.AddDate(0, 0, r.IntN(int(to.Sub(from)/(24*time.Hour))))
}

// known writes a day in one of the formats, three times in ten in lower case, as data/train.py
// does.
func known(r *rand.Rand, d time.Time) string {
	text := writers[r.IntN(len(writers))](d)
	if r.IntN(10) < 3 {
		text = strings.ToLower(text)
	}
	return text
}

// A sample is a text and its date.
type sample struct{ text, date string }

// samples returns n random samples. Longer texts come first: the encoder is then done with
// some texts after each step. Texts of the same length keep their order.
func samples(r *rand.Rand, n int) []sample {
	s := make([]sample, n)
	for i := range s {
		d := anyDay(r, firstYear, lastYear)
		s[i] = sample{known(r, d), d.Format(time.DateOnly)}
	}
	slices.SortStableFunc(s, func(a, b sample) int { return len(b.text) - len(a.text) })
	return s
}

// alphabets returns the characters of all texts and of all dates, as a model has them.
func alphabets() (input, output []rune) {
	seen := map[rune]bool{}
	for day := range 400 { // all months, weekdays and ordinals
		d := time.Date(firstYear, 1, 1+day, 0, 0, 0, 0, time.UTC)
		for _, write := range writers {
			text := write(d)
			for _, r := range text + strings.ToLower(text) {
				seen[r] = true
			}
		}
	}
	for r := range seen {
		input = append(input, r)
	}
	slices.Sort(input)
	return input, []rune(string(start) + "0123456789-" + string(end))
}
