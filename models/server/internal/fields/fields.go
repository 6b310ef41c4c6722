// Package fields reads the JSON objects of requests. A [Table] says of each field what becomes of
// it: it is used, it changes no answer, or it is an error unless it asks for nothing. A field that
// no table has is ignored, and its name is told to the caller.
package fields

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// An Error is a fault of a request.
type Error struct {
	Field   string // "" if it is none of a field
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Errorf returns an [*Error].
func Errorf(field, format string, args ...any) error {
	return &Error{field, fmt.Sprintf(format, args...)}
}

// IsNull tells whether a value is null.
func IsNull(data []byte) bool { return string(data) == "null" }

// Int is an integer. A number with a fraction of zeros is one, too, as some languages write no
// others: 3.0 is 3.
type Int int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Int) UnmarshalJSON(data []byte) error {
	if IsNull(data) {
		return nil
	}
	i, err := strconv.ParseInt(string(data), 10, 64)
	if err == nil {
		*n = Int(i)
		return nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return Errorf("", "got %.40s, want an integer from -2^63 to 2^63-1", data)
	}
	const exact = 1 << 53 // above, a float64 is not every integer
	if x, err := strconv.ParseFloat(string(data), 64); err == nil && x == math.Trunc(x) && math.Abs(x) <= exact {
		*n = Int(x)
		return nil
	}
	return Errorf("", "got %.40s, want an integer", data)
}

// Texts is a string or a list of strings. Empty ones ask for nothing.
type Texts []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Texts) UnmarshalJSON(data []byte) error {
	var one string
	switch {
	case IsNull(data):
		*t = nil
		return nil
	case json.Unmarshal(data, &one) == nil:
		*t = Texts{one}
	case isList(data, (*[]string)(t)):
	default:
		return Errorf("", "got %.40s, want a string or a list of strings", data)
	}
	*t = slices.DeleteFunc(*t, func(text string) bool { return text == "" })
	return nil
}

// isList decodes a list of which no item is null, which to would have as an item that is zero, and
// tells whether data is one.
func isList[T any](data []byte, to *[]T) bool {
	var items []*T
	if json.Unmarshal(data, &items) != nil || slices.Contains(items, nil) {
		return false
	}
	*to = make([]T, len(items))
	for i, item := range items {
		(*to)[i] = *item
	}
	return true
}

// Tokens is a list of the ids of tokens.
type Tokens []int32

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Tokens) UnmarshalJSON(data []byte) error {
	if IsNull(data) || !isList(data, (*[]int32)(t)) {
		return Errorf("", "got %.40s, want a list of token ids", data)
	}
	return nil
}

// Biases are what is added to the logits of tokens, by their ids.
type Biases map[int32]float32

// UnmarshalJSON implements [json.Unmarshaler].
func (b *Biases) UnmarshalJSON(data []byte) error {
	const most = 1024
	if json.Unmarshal(data, (*map[int32]float32)(b)) != nil || len(*b) > most {
		return Errorf("", "got %.40s, want an object of up to %d numbers, by the ids of tokens", data, most)
	}
	for _, id := range slices.Sorted(maps.Keys(*b)) { // in order, for the same error every time
		if bias := (*b)[id]; !(bias >= -100 && bias <= 100) {
			return Errorf("", "got %v for the token %d, want -100 to 100", bias, id)
		}
	}
	return nil
}

// Inputs are one or several texts, each as a string or as tokens.
type Inputs struct {
	Texts  []string
	Tokens [][]int32 // if not nil, instead of Texts
}

// UnmarshalJSON implements [json.Unmarshaler].
func (in *Inputs) UnmarshalJSON(data []byte) error {
	var one string
	var several []string
	var ids Tokens
	var lists []Tokens
	switch {
	case IsNull(data), string(data) == "[]":
		return nil
	case json.Unmarshal(data, &one) == nil:
		in.Texts = []string{one}
		return nil
	case isList(data, &several):
		in.Texts = several
		return nil
	case json.Unmarshal(data, &ids) == nil:
		in.Tokens = [][]int32{ids}
		return nil
	case isList(data, &lists):
		for _, ids := range lists {
			in.Tokens = append(in.Tokens, ids)
		}
		return nil
	}
	return Errorf("", "got %.40s, want a string, a list of strings, a list of token ids, or a list of such lists", data)
}

// Content is the text of a message: a string, or a list of parts, which must be texts.
type Content string

// part is a part of a [Content].
type part struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

var partTable = NewTable([]Row{{Use: Used, Names: "type text"}, {Use: Harmless, Names: "cache_control annotations citations logprobs"}})

// textParts are the types of parts that are texts, by the names of several APIs.
var textParts = map[string]bool{"text": true, "input_text": true, "output_text": true, "summary_text": true, "reasoning_text": true}

// Fields implements [Tabled].
func (*part) Fields() Table { return partTable }

func (c *Content) decode(d *decoder, data []byte, at place) error {
	if IsNull(data) {
		*c = ""
		return nil
	}
	if json.Unmarshal(data, (*string)(c)) == nil {
		return nil
	}
	var parts []part
	if data[0] != '[' {
		return Errorf(at.name, "%s: got %.40s, want a string or a list of parts", at.name, data)
	}
	if err := d.value(data, reflect.ValueOf(&parts).Elem(), at); err != nil {
		return err
	}
	var all strings.Builder
	for i, p := range parts {
		if !textParts[p.Type] || p.Text == nil {
			return Errorf(at.item(i).name, "%s: a part of type %.40q is not supported, only text is", at.item(i).name, p.Type)
		}
		all.WriteString(*p.Text)
	}
	*c = Content(all.String())
	return nil
}

// Passage is a text: a string, or an object with one.
type Passage string

func (p *Passage) decode(d *decoder, data []byte, at place) error {
	if !IsNull(data) && json.Unmarshal(data, (*string)(p)) == nil {
		return nil
	}
	var object struct {
		Text *string `json:"text"`
	}
	if d.value(data, reflect.ValueOf(&object).Elem(), at) != nil || object.Text == nil {
		return Errorf(at.name, "%s: got %.40s, want a string or an object with a text", at.name, data)
	}
	*p = Passage(*object.Text)
	return nil
}

// Set sets to what a request says, if it does.
func Set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// SetInt sets to what a request says, if it does. A number that no limit allows becomes a smaller
// number that none allows.
func SetInt(to *int, from *Int) {
	if from != nil {
		*to = int(max(math.MinInt32, min(math.MaxInt32, *from)))
	}
}
