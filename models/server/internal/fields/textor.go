package fields

import (
	"encoding/json"
	"reflect"
)

// TextOr is a text, or a list of what else there may be in its place.
type TextOr[T any] struct {
	Text string
	List []T // if not nil, in place of Text
}

func (t *TextOr[T]) decode(d *decoder, data []byte, at place) error {
	if IsNull(data) || json.Unmarshal(data, &t.Text) == nil {
		return nil
	}
	if data[0] != '[' {
		return Errorf(at.name, "%s: got %.40q, want a string or a list", at.name, data)
	}
	return d.value(data, reflect.ValueOf(&t.List).Elem(), at)
}
