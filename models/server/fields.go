package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
)

// decode reads the JSON object of a request. A field that to lacks is an error.
func decode(body io.Reader, to any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return decodeError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		if err != nil && !isSyntax(err) {
			return err
		}
		return bad("the body goes on after its JSON object")
	}
	return refuse(reflect.ValueOf(to).Elem())
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
			if got := v.Field(i); field.Type == reflect.TypeFor[absent]() && got.Len() > 0 {
				return badParam(field.Tag.Get("json"), "%s: got %.80s, which is not supported", field.Tag.Get("json"), got.String())
			}
			if err := refuse(v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// decodeError says what is wrong with a body.
func decodeError(err error) error {
	var wrong *json.UnmarshalTypeError
	var f *failure
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig), errors.As(err, &f), errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case errors.As(err, &wrong):
		field := strings.TrimPrefix(wrong.Field, "sampling.") // fields that several requests have
		return badParam(field, "%s: got %s, want %s", field, wrong.Value, wrong.Type)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(text, "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return badParam(name, "the field %q is not known or not supported", name)
	}
	return bad("the body is not JSON as expected: %s", text)
}

// isSyntax tells whether an error is about JSON, not about reading it.
func isSyntax(err error) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax)
}

// isNull tells whether a value is null.
func isNull(data []byte) bool { return string(data) == "null" }

// unused is a field that changes no answer: any value is accepted, and nothing of it is kept.
type unused struct{}

func (*unused) UnmarshalJSON([]byte) error { return nil }

// absent is a field whose feature is not there. null, false, 0, and what is empty say that it is not
// wanted; any other value is kept for refuse.
type absent string

func (a *absent) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "null", "false", "0", "{}", "[]", `""`, `"none"`, `"auto"`:
	default:
		*a = absent(data)
	}
	return nil
}

// texts is a string or a list of strings.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	switch {
	case isNull(data):
		*t = nil
		return nil
	case json.Unmarshal(data, &one) == nil:
		*t = texts{one}
		return nil
	case isList(data, (*[]string)(t)):
		return nil
	}
	return bad("got %.40s, want a string or a list of strings", data)
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

// tokens is a list of the ids of tokens.
type tokens []int32

func (t *tokens) UnmarshalJSON(data []byte) error {
	if isNull(data) || !isList(data, (*[]int32)(t)) {
		return bad("got %.40s, want a list of token ids", data)
	}
	return nil
}

// inputs are one or several texts, each as a string or as tokens.
type inputs struct {
	texts  []string
	tokens [][]int32 // if not nil, instead of texts
}

func (in *inputs) len() int { return max(len(in.texts), len(in.tokens)) }

func (in *inputs) UnmarshalJSON(data []byte) error {
	var one string
	var several []string
	var ids tokens
	var lists []tokens
	switch {
	case isNull(data), string(data) == "[]":
		return nil
	case json.Unmarshal(data, &one) == nil:
		in.texts = []string{one}
		return nil
	case isList(data, &several):
		in.texts = several
		return nil
	case json.Unmarshal(data, &ids) == nil:
		in.tokens = [][]int32{ids}
		return nil
	case isList(data, &lists):
		for _, ids := range lists {
			in.tokens = append(in.tokens, ids)
		}
		return nil
	}
	return bad("got %.40s, want a string, a list of strings, a list of token ids, or a list of such lists", data)
}

// content is the text of a message: a string, or a list of parts, which must be texts.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	if isNull(data) {
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
		return badParam("messages", "content: got %.40s, want a string or a list of parts", data)
	}
	var all strings.Builder
	for _, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return badParam("messages", "content: a part of type %.40q is not supported, only text is", p.Type)
		}
		all.WriteString(*p.Text)
	}
	*c = content(all.String())
	return nil
}
