module github.com/attn-go/attn/bridge/born

go 1.26.0

require (
	github.com/attn-go/attn v0.1.0
	github.com/attn-go/attn/models v0.1.0
	github.com/born-ml/born v0.9.24
)

require (
	github.com/dlclark/regexp2 v1.12.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/pkoukk/tiktoken-go v0.1.8 // indirect
	golang.org/x/sys v0.49.0 // indirect
)
