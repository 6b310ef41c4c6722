module github.com/attn-go/attn/models

go 1.26.0

require (
	github.com/attn-go/attn v0.0.0
	golang.org/x/text v0.43.0
)

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/attn-go/attn => ../
