module github.com/attn-go/attn/bridge/embeddings

go 1.26.0

require (
	github.com/attn-go/attn v0.0.0
	github.com/attn-go/attn/models v0.0.0
	github.com/philippgille/chromem-go v0.7.0
	github.com/tmc/langchaingo v0.1.14
)

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace (
	github.com/attn-go/attn => ../../
	github.com/attn-go/attn/models => ../../models
)
