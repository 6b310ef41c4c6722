package gguf

import (
	"fmt"
	"math"
)

// Keys returns the keys of the metadata in the order of the file.
func (f *File) Keys() []string {
	keys := make([]string, len(f.entries))
	for i, e := range f.entries {
		keys[i] = e.key
	}
	return keys
}

// Value returns the value of a key, and whether the file has it. Its type is that in the file:
// uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64, bool or string,
// a slice of these, or []any for an array of arrays. Slices are the file's own: do not change
// them.
func (f *File) Value(key string) (any, bool) {
	i, ok := f.keys[key]
	if !ok {
		return nil, false
	}
	return f.entries[i].value, true
}

// DropMetadata forgets all keys and values, as if the file had none: a tokenizer's may take tens of
// megabytes. It is for those who have read them and go on with the tensors. No other method may run
// meanwhile.
func (f *File) DropMetadata() { f.entries, f.keys = nil, nil }

// String returns the value of a key whose type is string. Otherwise the error is a *kernel.Error.
func (f *File) String(key string) (string, error) { return get[string](f, key, "string") }

// Bool returns the value of a key whose type is bool. Otherwise the error is a *kernel.Error.
func (f *File) Bool(key string) (bool, error) { return get[bool](f, key, "bool") }

// Strings returns the value of a key whose type is []string. Otherwise the error is a
// *kernel.Error. The slice is the file's own: do not change it.
func (f *File) Strings(key string) ([]string, error) { return get[[]string](f, key, "[]string") }

// Int returns the value of a key of any integer type. If it has another type, or is a uint64
// beyond an int64, the error is a *kernel.Error.
func (f *File) Int(key string) (int64, error) {
	const want = "an integer that fits an int64"
	v, ok := f.Value(key)
	if !ok {
		return 0, KeyError(key, "", want)
	}
	if n, ok := integer(v); ok {
		return n, nil
	}
	return 0, KeyError(key, describe(v), want)
}

// Float returns the value of a key whose type is float32 or float64. Otherwise the error is a
// *kernel.Error.
func (f *File) Float(key string) (float64, error) {
	const want = "float32 or float64"
	v, ok := f.Value(key)
	if !ok {
		return 0, KeyError(key, "", want)
	}
	switch v := v.(type) {
	case float32:
		return float64(v), nil
	case float64:
		return v, nil
	}
	return 0, KeyError(key, describe(v), want)
}

// Ints returns the value of a key that is an array of any integer type, as a slice of the
// caller's own. If it has another type, or an element is a uint64 beyond an int64, the error
// is a *kernel.Error.
func (f *File) Ints(key string) ([]int64, error) {
	const want = "an array of integers that fit an int64"
	v, ok := f.Value(key)
	if !ok {
		return nil, KeyError(key, "", want)
	}
	n, ok := integers(v)
	if !ok {
		return nil, KeyError(key, describe(v), want)
	}
	return n, nil
}

// Floats returns the value of a key whose type is []float32 or []float64, as a slice of the
// caller's own. Otherwise the error is a *kernel.Error.
func (f *File) Floats(key string) ([]float64, error) {
	const want = "[]float32 or []float64"
	v, ok := f.Value(key)
	if !ok {
		return nil, KeyError(key, "", want)
	}
	switch v := v.(type) {
	case []float32:
		return convert[float64](v), nil
	case []float64:
		return convert[float64](v), nil
	}
	return nil, KeyError(key, describe(v), want)
}

// get returns the value of a key if its type is T.
func get[T any](f *File, key, want string) (T, error) {
	v, ok := f.Value(key)
	t, is := v.(T)
	switch {
	case !ok:
		return t, KeyError(key, "", want)
	case !is:
		return t, KeyError(key, describe(v), want)
	}
	return t, nil
}

// integer returns v if it is an integer that fits an int64.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case uint8:
		return int64(v), true
	case int8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case int16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case int32:
		return int64(v), true
	case uint64:
		return int64(v), v <= math.MaxInt64
	case int64:
		return v, true
	}
	return 0, false
}

// integers returns v if it is a slice of integers that fit an int64.
func integers(v any) ([]int64, bool) {
	switch v := v.(type) {
	case []uint8:
		return convert[int64](v), true
	case []int8:
		return convert[int64](v), true
	case []uint16:
		return convert[int64](v), true
	case []int16:
		return convert[int64](v), true
	case []uint32:
		return convert[int64](v), true
	case []int32:
		return convert[int64](v), true
	case []uint64:
		n := convert[int64](v)
		for _, x := range n {
			if x < 0 {
				return nil, false
			}
		}
		return n, true
	case []int64:
		return convert[int64](v), true
	}
	return nil, false
}

// A realNumber is a type of numbers in metadata.
type realNumber interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32 | float64
}

func convert[To, From realNumber](from []From) []To {
	to := make([]To, len(from))
	for i, x := range from {
		to[i] = To(x)
	}
	return to
}

// describe returns the type of a value, and the value itself if it is a number or a bool.
func describe(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64, bool:
		return fmt.Sprintf("%T %v", v, v)
	case []any:
		return "array of arrays"
	}
	return fmt.Sprintf("%T", v)
}
