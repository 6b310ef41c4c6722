module github.com/attn-go/attn/tools

go 1.26.0

tool github.com/tetratelabs/wazero/cmd/wazero

require github.com/attn-go/attn v0.1.0

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	golang.org/x/mod v0.42.0
	golang.org/x/sys v0.49.0 // indirect
)
