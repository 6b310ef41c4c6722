package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/attn-go/attn/models/internal/jinja/python"
)

// jsonWriter writes values as json.dumps does.
type jsonWriter struct {
	*runner
	out           builder
	ensure        bool   // escape what is not ASCII
	lines         bool   // a line for each item
	indent        string // of a level
	between, then string // items, and a key and its value
	sort          bool   // keys
}

// tojson is the filter of transformers, which escapes nothing for HTML.
func tojson(r *runner, v value, b []value) value {
	w := &jsonWriter{runner: r, out: builder{m: &r.meter}, ensure: truth(b[0]), between: ", ", then: ": ", sort: truth(b[3])}
	switch indent := b[1].(type) {
	case nil:
	case Str:
		w.lines, w.indent = true, indent.text
	default:
		n := max(r.count(indent), 0)
		r.memory(n)
		w.lines, w.indent = true, strings.Repeat(" ", n)
	}
	if w.lines {
		w.between = ","
	}
	if b[2] != nil {
		two := r.items(b[2])
		if len(two) != 2 {
			r.fail("%d separators, want two", len(two))
		}
		w.between, w.then = r.text(two[0]).text, r.text(two[1]).text
	}
	w.value(v, 0)
	return w.out.str()
}

// value writes a value at a depth.
func (w *jsonWriter) value(v value, depth int) {
	w.work(nodeCost)
	switch v := v.(type) {
	case nil:
		w.out.inside("null")
	case bool:
		w.out.inside(strconv.FormatBool(v))
	case Str:
		w.text(v)
	case int64:
		w.out.inside(strconv.FormatInt(v, 10))
	case longInt:
		w.out.inside(string(v))
	case float64:
		w.out.inside(jsonFloat(v))
	case *List:
		if v.kind > tuple {
			w.fail("%s cannot be written as JSON", typeName(v))
		}
		w.block("[]", len(v.items), depth, func(i int) { w.value(v.items[i], depth+1) })
	case *Dict:
		entries := v.entries
		if w.sort {
			entries = w.sortedEntries(v)
		}
		w.block("{}", len(entries), depth, func(i int) {
			w.key(entries[i].key)
			w.out.inside(w.then)
			w.value(entries[i].value, depth+1)
		})
	default:
		w.fail("%s cannot be written as JSON", typeName(v))
	}
}

// jsonFloat writes a float as json.dumps does, which has names for what JSON has not.
func jsonFloat(f float64) string {
	s := python.FormatFloat(f)
	if name, ok := map[string]string{"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[s]; ok {
		return name
	}
	return s
}

// sortedEntries returns the entries of a dict in the order of their keys.
func (r *runner) sortedEntries(d *Dict) []entry {
	keys, places := r.keys(d), make([]value, len(d.entries))
	for i := range places {
		places[i] = int64(i)
	}
	sorted := make([]entry, len(places))
	for i, at := range r.sorted(places, keys, false) {
		sorted[i] = d.entries[at.(int64)]
	}
	r.memory(4 * slotSize * len(sorted))
	return sorted
}

// key writes a key, which is a string in JSON whatever it is.
func (w *jsonWriter) key(k value) {
	if s, ok := k.(Str); ok {
		w.text(s)
		return
	}
	if _, ok := k.(*List); ok {
		w.fail("a tuple cannot be a key in JSON")
	}
	w.out.inside(`"`)
	w.value(k, 0)
	w.out.inside(`"`)
}

// block writes n items between brackets.
func (w *jsonWriter) block(brackets string, n, depth int, item func(i int)) {
	line := func(depth int) {
		w.memory(len(w.indent) * depth)
		w.out.inside("\n" + strings.Repeat(w.indent, depth))
	}
	w.out.inside(brackets[:1])
	for i := range n {
		if i > 0 {
			w.out.inside(w.between)
		}
		if w.lines {
			line(depth + 1)
		}
		item(i)
	}
	if w.lines && n > 0 {
		line(depth)
	}
	w.out.inside(brackets[1:])
}

// text writes a string.
func (w *jsonWriter) text(s Str) {
	w.out.inside(`"`)
	w.out.converted(s, func(s string) string { return python.JSON(s, w.ensure) })
	w.out.inside(`"`)
}

// FromJSON returns a value of JSON, with the keys of objects in their order and strings from
// outside the template. Integers must fit 64 bits. The error says what is wrong.
func FromJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := (&jsonReader{d}).value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more after the value")
	}
	return v, nil
}

type jsonReader struct{ *json.Decoder }

// value reads a value that lies in so many others.
func (d *jsonReader) value(depth int) (value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth >= maxNesting {
		return nil, fmt.Errorf("values nested deeper than %d", maxNesting)
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return d.object(depth)
		}
		return d.array(depth)
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		if !bytes.ContainsAny([]byte(t), ".eE") {
			return longInt(t), nil
		}
		f, err := t.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %.40s, want an integer or a float of 64 bits", t)
		}
		return f, nil
	case string:
		return Outside(t), nil
	}
	return t, nil
}

func (d *jsonReader) array(depth int) (value, error) {
	var items []value
	for d.More() {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	_, err := d.Token()
	return newList(items, list), err
}

func (d *jsonReader) object(depth int) (value, error) {
	o := NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o.set(Outside(key.(string)), v)
	}
	_, err := d.Token()
	return o, err
}

// ToJSON returns a value of [FromJSON] as the filter tojson writes it.
func ToJSON(v any) string {
	r := &runner{meter: meter{left: math.MaxInt64, ask: math.MinInt64}} // it costs no more than its JSON
	w := &jsonWriter{runner: r, out: builder{m: &r.meter}, between: ", ", then: ": "}
	w.value(v, 0)
	return w.out.str().text
}
