package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A value is one of JSON. Objects keep the order of their members.
type value struct {
	kind   string // null, boolean, number, string, array, object
	text   string // of a string what it says, of what has no parts the JSON
	list   []*value
	keys   []string
	fields map[string]*value
	texts  map[string]bool // of strings of list, once has has made it
}

// readJSON reads a value.
func readJSON(data []byte) (*value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = fmt.Errorf("more than one value")
		}
	}
	if _, limit := err.(*LimitError); err != nil && !limit {
		err = &SchemaError{"#", err.Error(), "a schema in JSON"}
	}
	return v, err
}

func readValue(d *json.Decoder, depth int) (*value, error) {
	if depth > mostNesting {
		return nil, &LimitError{"values within each other", mostNesting}
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch x := token.(type) {
	case json.Delim:
		if x == '[' {
			return readArray(d, depth)
		}
		return readObject(d, depth)
	case string:
		return &value{kind: "string", text: x}, nil
	case json.Number:
		if _, err := x.Float64(); err != nil {
			return nil, err // no reader could have it
		}
		return &value{kind: "number", text: x.String()}, nil
	case bool:
		return &value{kind: "boolean", text: strconv.FormatBool(x)}, nil
	}
	return &value{kind: "null", text: "null"}, nil
}

func readArray(d *json.Decoder, depth int) (*value, error) {
	v := &value{kind: "array"}
	for d.More() {
		x, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		v.list = append(v.list, x)
	}
	_, err := d.Token()
	return v, err
}

func readObject(d *json.Decoder, depth int) (*value, error) {
	v := &value{kind: "object", fields: map[string]*value{}}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder makes sure
		if v.fields[name] != nil {
			return nil, fmt.Errorf("key %q twice", name)
		}
		if v.fields[name], err = readValue(d, depth+1); err != nil {
			return nil, err
		}
		v.keys = append(v.keys, name)
	}
	_, err := d.Token()
	return v, err
}

// field returns a member of an object, nil if there is none.
func (v *value) field(name string) *value { return v.fields[name] }

// has tells whether a list has a string.
func (v *value) has(text string) bool {
	if v.texts == nil {
		v.texts = map[string]bool{}
		for _, x := range v.list {
			if x.kind == "string" {
				v.texts[x.text] = true
			}
		}
	}
	return v.texts[text]
}

// is tells whether a value is there and is this JSON.
func (v *value) is(text string) bool { return v != nil && v.kind != "string" && v.text == text }

// write returns the JSON of a value, without spaces.
func (v *value) write() string {
	var parts []string
	switch v.kind {
	case "string":
		return quote(v.text)
	case "array":
		for _, x := range v.list {
			parts = append(parts, x.write())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case "object":
		for _, key := range v.keys {
			parts = append(parts, quote(key)+":"+v.fields[key].write())
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return v.text
}

// quote returns the JSON of a string.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // there is none for a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// An identity is what values have in common that may be the same to a validator. Of arrays and objects
// nobody knows.
type identity struct {
	kind, text string
	number     float64
}

func (v *value) identity() identity {
	switch v.kind {
	case "array", "object":
		return identity{kind: v.kind}
	case "number":
		n, _ := strconv.ParseFloat(v.text, 64) // which readValue has checked
		return identity{kind: v.kind, number: n}
	}
	return identity{kind: v.kind, text: v.text}
}
