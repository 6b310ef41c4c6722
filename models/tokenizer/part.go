package tokenizer

import "github.com/attn-go/attn/models/tokenizer/internal/part"

// Part is a part of a text for a model, of which special tokens that are written in it are meant as
// such or not.
type Part = part.Part

// Join returns the text of all parts.
func Join(parts []Part) string { return part.Join(parts) }
