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
	"strings"
)

// Read reads the body of a request, of which so many bytes are announced, or -1. A body that is
// longer than it may be, or that takes longer to come, is the error of its reader, and so is any
// other fault of it an [*Error].
func Read(body io.Reader, size int64) ([]byte, error) {
	var data []byte
	if size > 0 && size <= mostAtOnce {
		data = make([]byte, 0, size+1) // with a byte for the end, which io.EOF needs
	}
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil && exceeds(err):
			return nil, err
		case err != nil:
			return nil, Errorf("", "the body breaks off: %v", err)
		}
	}
}

// mostAtOnce is the most memory that a body gets by what its client announces alone.
const mostAtOnce = 16 << 20

// exceeds tells whether a body is larger, or takes longer to come, than it may.
func exceeds(err error) bool {
	var tooBig *http.MaxBytesError
	return errors.As(err, &tooBig) || errors.Is(err, os.ErrDeadlineExceeded)
}

// Decode reads the JSON object of a request into a struct. Names are compared as they are written;
// of a name that an object has twice the last counts, as in JavaScript and Python. What the struct
// lacks, its [Table] allows or refuses; the name of a field that the table lacks, too, is given to
// unknown, as in messages[].id. data must not change afterwards. All errors are an [*Error].
func Decode(data []byte, to any, unknown func(name string)) error {
	d := &decoder{unknown, mostMemory}
	return d.value(data, reflect.ValueOf(to).Elem(), place{})
}

// A decoder decodes one request.
type decoder struct {
	unknown func(name string)
	room    int // bytes that items of lists may still take
}

// mostMemory is the most memory of the items of a request's lists: an item that is short in JSON is
// long in memory.
const mostMemory = 32 << 20

// A place is where a value stands: as errors name it, and with [] for any index.
type place struct{ name, general string }

func (p place) field(name string) place {
	if p.name == "" {
		return place{name, name}
	}
	return place{p.name + "." + name, p.general + "." + name}
}

func (p place) item(i int) place { return place{fmt.Sprintf("%s[%d]", p.name, i), p.general + "[]"} }

// A nested value decodes itself, with objects in it.
type nested interface {
	decode(d *decoder, data []byte, at place) error
}

// A Worded struct may be a string in place of an object.
type Worded interface{ Word(text string) }

// view is a JSON value within a body. It shares the body's memory.
type view []byte

// UnmarshalJSON implements [json.Unmarshaler].
func (v *view) UnmarshalJSON(data []byte) error {
	*v = data
	return nil
}

// value decodes a value.
func (d *decoder) value(data []byte, to reflect.Value, at place) error {
	if to.Kind() == reflect.Pointer {
		if IsNull(data) {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return d.value(data, to.Elem(), at)
	}
	var word string
	switch x := to.Addr().Interface().(type) {
	case nested:
		return x.decode(d, data, at)
	case Worded:
		if json.Unmarshal(data, &word) == nil {
			x.Word(word)
			return nil
		}
	case json.Unmarshaler:
		return named(json.Unmarshal(data, x), at)
	}
	switch {
	case to.Kind() == reflect.Struct:
		return d.object(data, to, at)
	case to.Kind() == reflect.Slice && to.Type().Elem().Kind() != reflect.Uint8:
		return d.list(data, to, at)
	}
	return named(json.Unmarshal(data, to.Addr().Interface()), at)
}

// list decodes a list.
func (d *decoder) list(data []byte, to reflect.Value, at place) error {
	var items []view
	n, one := itemsOf(data), int(reflect.TypeOf(items).Elem().Size()+to.Type().Elem().Size())
	if d.room -= min(n, d.room/one+1) * one; d.room < 0 {
		return Errorf(at.name, "%s: got %d items, which take more memory than the lists of a request may", at.name, n)
	}
	if err := json.Unmarshal(data, &items); err != nil {
		return named(err, at)
	}
	to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
	for i, item := range items {
		if IsNull(item) { // which would be an item that is zero
			return Errorf(at.item(i).name, "%s: got null, want %s", at.item(i).name, typeName(to.Type().Elem()))
		}
		if err := d.value(item, to.Index(i), at.item(i)); err != nil {
			return err
		}
	}
	return nil
}

// itemsOf returns how many items a list has; 1 if it has none.
func itemsOf(data []byte) int {
	n, depth, quoted := 1, 0, false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[' || b == '{':
			depth++
		case b == ']' || b == '}':
			depth--
		case b == ',' && depth == 1:
			n++
		}
	}
	return n
}

// object decodes an object into a struct.
func (d *decoder) object(data []byte, to reflect.Value, at place) error {
	var keys map[string]view
	if err := json.Unmarshal(data, &keys); err != nil {
		return named(err, at)
	}
	if err := d.fields(keys, to, at); err != nil {
		return err
	}
	return d.rest(keys, to, at)
}

// fields decodes a struct's fields, including embedded structs' fields, and takes them out of keys.
func (d *decoder) fields(keys map[string]view, to reflect.Value, at place) error {
	for i := range to.NumField() {
		f := to.Type().Field(i)
		if f.Anonymous {
			if err := d.fields(keys, to.Field(i), at); err != nil {
				return err
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		value, ok := keys[name]
		if delete(keys, name); !ok {
			continue
		}
		if err := d.value(value, to.Field(i), at.field(name)); err != nil {
			return err
		}
	}
	return nil
}

// rest looks at the fields that a struct lacks.
func (d *decoder) rest(keys map[string]view, to reflect.Value, at place) error {
	var table Table
	if t, ok := to.Addr().Interface().(Tabled); ok {
		table = t.Fields()
	}
	var refused error
	for name, value := range keys {
		switch rule, known := table[name]; {
		case !known:
			d.unknown(at.field(name).general)
		case rule.Use == Refused && !rule.nothing(value) && (refused == nil || at.field(name).name < refused.(*Error).Field):
			refused = Errorf(at.field(name).name, "%s: got %.80s, want %s", at.field(name).name, value, rule.want)
		}
	}
	return refused // of several the first one by its name, so that the answer is always the same
}

// named returns an error of decoding a value as an [*Error] of its field.
func named(err error, at place) error {
	var wrong *json.UnmarshalTypeError
	var f *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		if f.Field == "" && at.name != "" {
			return Errorf(at.name, "%s: %s", at.name, f.Message)
		}
		return f
	case errors.As(err, &wrong):
		return Errorf(at.name, "%s: got %s, want %s", cmp.Or(at.name, "the body"), wrong.Value, typeName(wrong.Type))
	}
	text := strings.TrimPrefix(err.Error(), "json: ")
	return Errorf(at.name, "%s is not JSON as expected: %s", cmp.Or(at.name, "the body"), text)
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
