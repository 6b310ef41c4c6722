package main

import (
	"fmt"
	"strings"
	"time"
)

// formats has one date in each format that the model was trained on. data/train.py has
// the same list.
var formats = []string{
	"Saturday, November 21, 2026",
	"Saturday 21 November 2026",
	"November 21st, 2026",
	"the 21st of November 2026",
	"21 November 2026",
	"21 Nov 2026",
	"Nov 21 2026",
	"21/Nov/2026",
	"21.11.2026",
}

// The first and the last year that the model was trained on.
const firstYear, lastYear = 1900, 2099

// knownFormats lists the formats for the user.
func knownFormats() string {
	return fmt.Sprintf("The model knows dates from %d to %d in these formats, also in lower case:\n\t%s",
		firstYear, lastYear, strings.Join(formats, "\n\t"))
}

// minProbability is the smallest probability of an answer that is worth trusting.
//
// The model answers any text, even one that is no date. TestTrust measures how well the
// probability separates the two; README.md has its table. With 0.998, 99.8% of the
// answers to dates in known formats are trusted, and at most 2% of the answers to any
// other kind of text are trusted although they are wrong. With 0.99 the latter would be
// 9%. With 0.999 more than 1% of the answers to known dates would not be trusted.
const minProbability = 0.998

// doubt returns the reasons not to trust the answer, "" if there is none.
func (t *translation) doubt() string {
	var reasons []string
	if t.probability < minProbability {
		reasons = append(reasons, fmt.Sprintf("the model is unsure (below %v)", minProbability))
	}
	date, err := time.Parse(time.DateOnly, string(t.date))
	switch {
	case err != nil:
		reasons = append(reasons, "this is not a day of the calendar")
	case date.Year() < firstYear || date.Year() > lastYear:
		reasons = append(reasons, fmt.Sprintf("the model knows the years %d to %d only", firstYear, lastYear))
	}
	return strings.Join(reasons, "; ")
}
