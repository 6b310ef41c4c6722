package chattemplate

import (
	"fmt"
	"time"

	"github.com/attn-go/attn/kernel"
)

// A Date is a day, for templates that write one. The zero value is [DefaultDate].
//
// Templates ask for the date by the function strftime_now, which reads the clock where others
// render them: the same conversation gives another prompt on another day. Here the date is a
// setting.
type Date struct{ day time.Time } // midnight in UTC

// DefaultDate is the date without a setting, 2024-07-26: the one that the templates of Llama 3
// write where there is no clock.
var DefaultDate = DateOf(time.Date(2024, time.July, 26, 0, 0, 0, 0, time.UTC))

// DateOf returns the day of t in its own time zone, as in DateOf(time.Now()).
func DateOf(t time.Time) Date {
	year, month, day := t.Date()
	return Date{time.Date(year, month, day, 0, 0, 0, 0, time.UTC)}
}

// ParseDate reads a day of the form YYYY-MM-DD, of the years 1000 to 9999. The error is a
// [*kernel.Error].
func ParseDate(text string) (Date, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 1000 {
		return Date{}, &kernel.Error{Where: "chattemplate.ParseDate: date", Got: fmt.Sprintf("%.40q", text), Want: "YYYY-MM-DD"}
	}
	return Date{t}, nil
}

// orDefault returns d, or DefaultDate if it is zero.
func (d Date) orDefault() Date {
	if d == (Date{}) {
		return DefaultDate
	}
	return d
}

// String returns the form YYYY-MM-DD.
func (d Date) String() string { return d.orDefault().day.Format(time.DateOnly) }

// MarshalText returns the form YYYY-MM-DD.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Set is [ParseDate], and takes "today" for the day that the clock of this machine has now. With it
// a date is a [flag.Value].
func (d *Date) Set(text string) (err error) {
	if text == "today" {
		*d = DateOf(time.Now())
		return nil
	}
	*d, err = ParseDate(text)
	return err
}

// UnmarshalText is [ParseDate].
func (d *Date) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDate(string(text))
	return err
}
