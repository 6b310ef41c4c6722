package fields

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// A Use says what becomes of a field of a request.
type Use int

// The uses.
const (
	Used     Use = 1 + iota // the struct of the request has it
	Harmless                // it changes no answer: any value is accepted
	Refused                 // it would change the answer: values that ask for nothing are accepted, others are an error
)

// A Row says what becomes of some fields.
type Row struct {
	Use   Use
	Names string // with spaces between them

	// Nothing are the values of refused fields that ask for nothing, beside null, with spaces
	// between them.
	Nothing string

	Want string // what an error says, if the value is not in Nothing
}

// A Table says by their names what becomes of the fields of an object.
type Table map[string]rule

type rule struct {
	Use
	values []string // that ask for nothing
	want   string
}

// A Tabled struct has a table of the fields that it has and of those that it lacks.
type Tabled interface{ Fields() Table }

// NewTable returns the table of rows. Of two rows with a name, the later counts.
func NewTable(rows ...[]Row) Table {
	t := Table{}
	for _, list := range rows {
		for _, row := range list {
			r := rule{row.Use, strings.Fields(row.Nothing), row.Want}
			if r.want == "" {
				r.want = "none, as it is not supported"
				if len(r.values) > 0 {
					r.want = strings.Join(r.values, " or ") + ", as others are not supported"
				}
			}
			for _, name := range strings.Fields(row.Names) {
				t[name] = r
			}
		}
	}
	return t
}

// nothing tells whether a value asks for nothing.
func (r *rule) nothing(value []byte) bool {
	if IsNull(value) {
		return true
	}
	var text bytes.Buffer
	if json.Compact(&text, value) != nil {
		return false
	}
	x, err := strconv.ParseFloat(text.String(), 64)
	for _, v := range r.values {
		if y, bad := strconv.ParseFloat(v, 64); v == text.String() || err == nil && bad == nil && x == y {
			return true
		}
	}
	return false
}
