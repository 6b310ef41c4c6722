package chattemplate_test

import (
	"errors"
	"flag"
	"io"
	"testing"
	"time"

	"github.com/attn-go/attn/kernel"
	"github.com/attn-go/attn/models/chattemplate"
)

// The function strftime_now writes the date of the options, as Python's strftime writes it.
func TestDate(t *testing.T) {
	for _, x := range []struct{ day, format, want string }{
		{"", "%Y-%m-%d", "2024-07-26"},
		{"2026-11-28", "%A, %-d %B %Y", "Saturday, 28 November 2026"},
		// python3 -c 'import datetime; print(datetime.date(2021, 1, 3).strftime(...))', and of the
		// others
		{"2021-01-03", "%a %A %b %B %c %C %d %D", "Sun Sunday Jan January Sun Jan  3 00:00:00 2021 20 03 01/03/21"},
		{"2021-01-03", "%e %F %g %G %h %H %I %j %k %l %m %M", " 3 2021-01-03 20 2020 Jan 00 12 003  0 12 01 00"},
		{"2021-01-03", "%p %P %r %R %S %T %u %U %V %w %W %x %X %y %Y", "AM am 12:00:00 AM 00:00 00 00:00:00 7 01 53 0 00 01/03/21 00:00:00 21 2021"},
		{"2021-01-03", "%f|%z|%Z|%n|%t|%%|%-d|%_d|%0e|%-j|%-I|x", "000000|||\n|\t|%|3| 3|03|3|12|x"},
		{"2024-12-30", "%U %W %V %G %g %j %u %w", "52 53 01 2025 25 365 1 1"},
	} {
		var o chattemplate.Options
		if x.day != "" {
			d, err := chattemplate.ParseDate(x.day)
			if err != nil || d.String() != x.day {
				t.Fatal(d, err)
			}
			o.Date = d
		}
		template, err := chattemplate.NewWith("{{ strftime_now('"+x.format+"') }}", o)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := template.Render(nil, false); err != nil || got != x.want {
			t.Errorf("%s of %s: got %q, %v, want %q", x.format, x.day, got, err, x.want)
		}
		o = template.Options()
		o.Date = chattemplate.DateOf(time.Date(1999, 1, 2, 23, 0, 0, 0, time.UTC))
		if template, err = template.With(o); err != nil {
			t.Fatal(err)
		}
		if got, err := template.Render(nil, false); err != nil || got == x.want {
			t.Errorf("%s in 1999: got %q, %v", x.format, got, err)
		}
	}
	for _, bad := range []string{"", "today", "2024-2-3", "2023-02-29", "0999-01-01", "2024-01-01T00:00:00"} {
		if d, err := chattemplate.ParseDate(bad); !errors.As(err, new(*kernel.Error)) {
			t.Errorf("%q: got %v, %v", bad, d, err)
		}
	}
}

// A template whose tags do not name the function cannot ask for the date.
func TestReadsDate(t *testing.T) {
	for source, want := range map[string]bool{
		"{{ strftime_now('%Y') }}": true,
		"{% if strftime_now is defined %}{% set now = strftime_now %}{% endif %}": true,
		"strftime_now {{ 'strftime_now' }} {# strftime_now('%Y') #}":              false,
		"{{ messages | length }}": false,
	} {
		template, err := chattemplate.New(source)
		if err != nil || template.ReadsDate() != want {
			t.Errorf("%s: got %v, %v", source, !want, err)
		}
	}
}

// A flag takes a day, or the clock's.
func TestDateFlag(t *testing.T) {
	before := chattemplate.DateOf(time.Now())
	for value, ok := range map[string]bool{"2026-11-28": true, "today": true, "tomorrow": false} {
		var d chattemplate.Date
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		fs.Var(&d, "date", "")
		err := fs.Parse([]string{"-date", value})
		if (err == nil) != ok {
			t.Errorf("%s: %v", value, err)
		}
		if after := chattemplate.DateOf(time.Now()); value == "today" && d != before && d != after {
			t.Errorf("today is %v, want %v", d, after)
		}
	}
}
