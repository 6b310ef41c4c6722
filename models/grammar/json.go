package grammar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/grammar/internal/regular"
)

// A value is a JSON value. Objects keep the order of their members.
type value struct {
	kind   string // null, boolean, number, string, array, object
	text   string // of a string what it says, of what has no parts the JSON
	list   []*value
	keys   []string
	fields map[string]*value
	number *big.Rat // once rational has made it
	same   string   // once key has made it
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
	if err != nil && !errors.Is(err, ErrLimit) {
		err = schemaError("#", err.Error(), "a schema in JSON")
	}
	return v, err
}

func readValue(d *json.Decoder, depth int) (*value, error) {
	if depth > mostNesting {
		return nil, limitError("values within each other", mostNesting)
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
		if err := checkNumber(x.String()); err != nil {
			return nil, err
		}
		return &value{kind: "number", text: x.String()}, nil
	case bool:
		return &value{kind: "boolean", text: strconv.FormatBool(x)}, nil
	}
	return &value{kind: "null", text: "null"}, nil
}

// mostDigits bounds the digits of a number before or behind its point, and mostExponent is above
// all exponents of float64. With a larger one a number of few bytes, such as 1e-999999, has a
// million digits.
const (
	mostDigits   = regular.MostDigits
	mostExponent = 400
)

// checkNumber reports a number that no reader of JSON could have.
func checkNumber(text string) error {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return fmt.Errorf("the number %.40s, which is beyond float64", text)
	}
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if n, err := strconv.Atoi(cmp.Or(exponent, "0")); err != nil || n < -mostExponent || n > mostExponent {
		return fmt.Errorf("the number %.40s, whose exponent is beyond those of float64", text)
	}
	if len(digits) > mostDigits {
		return limitError("digits of a number", mostDigits)
	}
	return nil
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

// rational returns the number that a value is.
func (v *value) rational() *big.Rat {
	if v.number == nil {
		v.number, _ = new(big.Rat).SetString(v.text) // which readValue has checked
	}
	return v.number
}

// key returns a text that is the same for equal numbers.
func (v *value) key() string {
	if v.same == "" {
		v.same = v.rational().RatString()
	}
	return v.same
}
