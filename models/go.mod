module github.com/attn-go/attn/models

go 1.26.0

require github.com/attn-go/attn v0.0.0

replace github.com/attn-go/attn => ../
