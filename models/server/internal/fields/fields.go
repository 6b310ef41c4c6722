// Package fields reads the JSON objects of requests: a field that is not known, or whose feature is not there, is an error.
package fields

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
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

// Decode reads the JSON object of a request. A field that to lacks is an [*Error]; so is every error but an [*http.MaxBytesError] and an [os.ErrDeadlineExceeded] of body.
func Decode(body io.Reader, to any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return decodeError(err, to)
	}
	switch _, err := d.Token(); {
	case errors.Is(err, io.EOF):
		return refuse(reflect.ValueOf(to).Elem())
	case exceeds(err):
		return err
	}
	return Errorf("", "the body goes on after its JSON object")
}

// exceeds tells whether a body is larger, or takes longer to come, than it may.
func exceeds(err error) bool {
	var tooBig *http.MaxBytesError
	return errors.As(err, &tooBig) || errors.Is(err, os.ErrDeadlineExceeded)
}

// refuse reports the first field, also within structs and lists, that asks for what is not there.
func refuse(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return refuse(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := refuse(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if got := v.Field(i); field.Type == reflect.TypeFor[Absent]() && got.Len() > 0 {
				return Errorf(field.Tag.Get("json"), "%s: got %.80s, which is not supported", field.Tag.Get("json"), got.String())
			}
			if err := refuse(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodeError says what is wrong with a body.
func decodeError(err error, to any) error {
	var wrong *json.UnmarshalTypeError
	var f *Error
	switch {
	case exceeds(err), errors.As(err, &f):
		return err
	case errors.As(err, &wrong):
		field := wrong.Field
		for i := range reflect.TypeOf(to).Elem().NumField() { // fields that several requests have
			if part := reflect.TypeOf(to).Elem().Field(i); part.Anonymous {
				field = strings.TrimPrefix(field, part.Name+".")
			}
		}
		return Errorf(field, "%s: got %s, want %s", cmp.Or(field, "the body"), wrong.Value, typeName(wrong.Type))
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(text, "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return Errorf(name, "the field %q is not known or not supported", name)
	}
	return Errorf("", "the body is not JSON as expected: %s", text)
}

// typeName names a type without names of this program, which a client does not know.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	}
	return t.Kind().String()
}

// IsNull tells whether a value is null.
func IsNull(data []byte) bool { return string(data) == "null" }

// Unused is a field that changes no answer: any value is accepted, and nothing of it is kept.
type Unused struct{}

// UnmarshalJSON is that of [json.Unmarshaler].
func (*Unused) UnmarshalJSON([]byte) error { return nil }

// Absent is a field whose feature is not there. null, false, 0, and what is empty say that it is not
// wanted; any other value is kept for refuse.
type Absent string

// UnmarshalJSON is that of [json.Unmarshaler].
func (a *Absent) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "null", "false", "0", "{}", "[]", `""`, `"none"`, `"auto"`:
	default:
		*a = Absent(data)
	}
	return nil
}

// Texts is a string or a list of strings.
type Texts []string

// UnmarshalJSON is that of [json.Unmarshaler].
func (t *Texts) UnmarshalJSON(data []byte) error {
	var one string
	switch {
	case IsNull(data):
		*t = nil
		return nil
	case json.Unmarshal(data, &one) == nil:
		*t = Texts{one}
		return nil
	case isList(data, (*[]string)(t)):
		return nil
	}
	return Errorf("", "got %.40s, want a string or a list of strings", data)
}

// isList decodes a list of which no item is null, which to would have as an item that is zero, and tells
// whether data is one.
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

// UnmarshalJSON is that of [json.Unmarshaler].
func (t *Tokens) UnmarshalJSON(data []byte) error {
	if IsNull(data) || !isList(data, (*[]int32)(t)) {
		return Errorf("", "got %.40s, want a list of token ids", data)
	}
	return nil
}

// Inputs are one or several texts, each as a string or as tokens.
type Inputs struct {
	Texts  []string
	Tokens [][]int32 // if not nil, instead of Texts
}

// Len returns how many there are.
func (in *Inputs) Len() int { return max(len(in.Texts), len(in.Tokens)) }

// UnmarshalJSON is that of [json.Unmarshaler].
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

// UnmarshalJSON is that of [json.Unmarshaler].
func (c *Content) UnmarshalJSON(data []byte) error {
	if IsNull(data) {
		*c = ""
		return nil
	}
	if json.Unmarshal(data, (*string)(c)) == nil {
		return nil
	}
	var parts []struct {
		Type string
		Text *string
	}
	if json.Unmarshal(data, &parts) != nil {
		return Errorf("messages", "content: got %.40s, want a string or a list of parts", data)
	}
	var all strings.Builder
	for _, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return Errorf("messages", "content: a part of type %.40q is not supported, only text is", p.Type)
		}
		all.WriteString(*p.Text)
	}
	*c = Content(all.String())
	return nil
}
