package chattemplate

import (
	"fmt"
	"strings"
	"time"
)

// layouts are the directives of strftime as package time writes them.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'H': "15", 'I': "03", 'j': "002",
	'm': "01", 'M': "04", 'p': "PM", 'S': "05", 'y': "06", 'Y': "2006", 'F': "2006-01-02", 'T': "15:04:05",
}

// date is the function strftime_now of templates: the time in a format as of strftime.
func (t *Template) date(args ...string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("strftime_now has %d arguments, want a format", len(args))
	}
	now := time.Now
	if t.opts.Now != nil {
		now = t.opts.Now
	}
	at := now()
	var b strings.Builder
	for i := 0; i < len(args[0]); i++ {
		c := args[0][i]
		if c != '%' {
			b.WriteByte(c)
			continue
		}
		i++
		switch {
		case i < len(args[0]) && args[0][i] == '%':
			b.WriteByte('%')
		case i < len(args[0]) && layouts[args[0][i]] != "":
			b.WriteString(at.Format(layouts[args[0][i]]))
		default:
			return "", fmt.Errorf("strftime_now has the format %q, which is not known", args[0])
		}
	}
	return b.String(), nil
}
