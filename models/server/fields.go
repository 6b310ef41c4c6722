package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
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
		if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
			return err
		}
		return bad("the body goes on after its JSON object")
	}
	return nil
}

// decodeError says what is wrong with a body.
func decodeError(err error) error {
	var wrong *json.UnmarshalTypeError
	var f *failure
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig), errors.As(err, &f):
		return err
	case errors.As(err, &wrong):
		return badParam(wrong.Field, "%s: got %s, want %s", wrong.Field, wrong.Value, wrong.Type)
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(text, "unknown field "); ok {
		name = strings.Trim(name, `"`)
		return badParam(name, "the field %q is not known or not supported", name)
	}
	return bad("the body is not JSON as expected: %s", text)
}

// isNull tells whether a value is null.
func isNull(data []byte) bool { return string(data) == "null" }

// unused is a field that changes no answer: any value is accepted, and nothing of it is kept.
type unused struct{}

func (*unused) UnmarshalJSON([]byte) error { return nil }

// absent is a field whose feature is not there: null, false, 0, and what is empty are accepted.
type absent struct{}

func (*absent) UnmarshalJSON(data []byte) error {
	switch string(bytes.TrimSpace(data)) {
	case "null", "false", "0", "{}", "[]", `""`, `"none"`, `"auto"`:
		return nil
	}
	return bad("a feature is asked for that is not supported: %.80s", data)
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
	case json.Unmarshal(data, (*[]string)(t)) == nil:
		return nil
	}
	return bad("got %.40s, want a string or a list of strings", data)
}

// inputs are one or several texts, each as a string or as tokens.
type inputs struct {
	texts  []string
	tokens [][]int32 // if not nil, instead of texts
}

func (in *inputs) len() int { return max(len(in.texts), len(in.tokens)) }

func (in *inputs) UnmarshalJSON(data []byte) error {
	var one string
	var ids []int32
	switch {
	case isNull(data), string(data) == "[]":
		return nil
	case json.Unmarshal(data, &one) == nil:
		in.texts = []string{one}
		return nil
	case json.Unmarshal(data, &in.texts) == nil:
		return nil
	case json.Unmarshal(data, &ids) == nil:
		in.texts, in.tokens = nil, [][]int32{ids}
		return nil
	case json.Unmarshal(data, &in.tokens) == nil:
		in.texts = nil
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
