package settings

import "github.com/attn-go/attn/models/internal/strict"

func unwrap(s *strict.JSON) *strict.JSON { return s }
