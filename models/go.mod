module github.com/attn-go/attn/models

go 1.26.0

replace github.com/attn-go/attn => ../

require golang.org/x/text v0.43.0
