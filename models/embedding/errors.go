package embedding

import "errors"

// ErrLong is the kind of a [kernel.Error] about a text that has more tokens than the model sees.
var ErrLong = errors.New("embedding: the text is too long")
