package chattemplate

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A directive is what strftime writes for a letter after %: a number, or a text.
type directive struct {
	width int  // of a number
	pad   byte // before a number that has fewer digits
	of    func(t time.Time) int
	text  string // a layout of package time, if of is nil
}

func number(width int, of func(t time.Time) int) directive { return directive{width, '0', of, ""} }
func spaced(of func(t time.Time) int) directive            { return directive{2, ' ', of, ""} }
func text(layout string) directive                         { return directive{text: layout} }

// directives are C's with Python's and glibc's, for a time without a zone.
var directives = map[byte]directive{
	'a': text("Mon"), 'A': text("Monday"), 'b': text("Jan"), 'h': text("Jan"), 'B': text("January"), 'p': text("PM"), 'P': text("pm"),
	'c': text("Mon Jan _2 15:04:05 2006"), 'x': text("01/02/06"), 'D': text("01/02/06"), 'X': text("15:04:05"), 'T': text("15:04:05"),
	'R': text("15:04"), 'r': text("03:04:05 PM"), 'F': text("2006-01-02"), 'n': text("\n"), 't': text("\t"), 'z': text(""), 'Z': text(""), '%': text("%"),

	'd': number(2, time.Time.Day), 'e': spaced(time.Time.Day), 'm': number(2, func(t time.Time) int { return int(t.Month()) }),
	'Y': number(1, time.Time.Year), 'y': number(2, func(t time.Time) int { return t.Year() % 100 }), 'C': number(2, func(t time.Time) int { return t.Year() / 100 }),
	'H': number(2, time.Time.Hour), 'k': spaced(time.Time.Hour), 'I': number(2, twelve), 'l': spaced(twelve),
	'M': number(2, time.Time.Minute), 'S': number(2, time.Time.Second), 'f': number(6, func(t time.Time) int { return t.Nanosecond() / 1000 }),
	'j': number(3, time.Time.YearDay), 'w': number(1, weekday), 'u': number(1, func(t time.Time) int { return (weekday(t)+6)%7 + 1 }),
	'U': number(2, func(t time.Time) int { return (t.YearDay() + 6 - weekday(t)) / 7 }), 'W': number(2, func(t time.Time) int { return (t.YearDay() + 6 - (weekday(t)+6)%7) / 7 }),
	'V': number(2, func(t time.Time) int { _, week := t.ISOWeek(); return week }), 'G': number(1, isoYear), 'g': number(2, func(t time.Time) int { return isoYear(t) % 100 }),
}

func twelve(t time.Time) int  { return (t.Hour()+11)%12 + 1 }
func weekday(t time.Time) int { return int(t.Weekday()) }
func isoYear(t time.Time) int { year, _ := t.ISOWeek(); return year }

// write writes a time. The flags are glibc's: - for no padding, _ for spaces, 0 for zeros.
func (d directive) write(t time.Time, flag byte) string {
	if d.of == nil {
		return t.Format(d.text)
	}
	pad := map[byte]byte{0: d.pad, '_': ' ', '0': '0'}[flag]
	s := strconv.Itoa(d.of(t))
	if pad != 0 && len(s) < d.width {
		s = strings.Repeat(string(pad), d.width-len(s)) + s
	}
	return s
}

// strftime writes a time in a format, as Python's strftime does with glibc. What Python leaves to
// the system, such as %Q, is an error.
func strftime(t time.Time, format string) (string, error) {
	var b strings.Builder
	for rest := format; rest != ""; {
		plain, after, found := strings.Cut(rest, "%")
		b.WriteString(plain)
		if !found {
			break
		}
		flag := byte(0)
		if after != "" && strings.IndexByte("-_0", after[0]) >= 0 {
			flag, after = after[0], after[1:]
		}
		if after == "" {
			return "", unknownFormat(format)
		}
		d, ok := directives[after[0]]
		if !ok {
			return "", unknownFormat(format)
		}
		b.WriteString(d.write(t, flag))
		rest = after[1:]
	}
	return b.String(), nil
}

func unknownFormat(format string) error {
	return fmt.Errorf("strftime_now has the format %.60q, which is not known", format)
}

// strftimeNow is the function strftime_now of templates: a date in a format, at midnight.
func strftimeNow(d Date) func(args ...string) (string, error) {
	return func(args ...string) (string, error) {
		return strftime(d.orDefault().day, args[0])
	}
}
