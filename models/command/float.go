package command

import (
	"flag"
	"strconv"
)

// float is a flag of a number.
type float struct {
	to   *float64
	zero float64 // what 0 becomes
}

// Float defines a flag of a number whose 0 becomes another number in to: where a field that is 0 is
// one that nobody has set.
func Float(fs *flag.FlagSet, to *float64, name string, value, zero float64, usage string) {
	*to = value
	fs.Var(float{to, zero}, name, usage)
}

// Set reads a number.
func (f float) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if x == 0 {
		x = f.zero
	}
	*f.to = x
	return err
}

// String returns the number as it is written, and "" for the zero value, as package flag asks for
// it.
func (f float) String() string {
	switch {
	case f.to == nil:
		return ""
	case *f.to == f.zero:
		return "0"
	}
	return strconv.FormatFloat(*f.to, 'g', -1, 64)
}
