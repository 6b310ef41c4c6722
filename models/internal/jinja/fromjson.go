package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

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
