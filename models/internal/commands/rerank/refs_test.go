package rerank

import _ "github.com/attn-go/attn/models/internal/refs" // the flag -refs
