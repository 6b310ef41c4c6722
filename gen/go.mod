module github.com/attn-go/attn/gen

go 1.26.0

tool github.com/tetratelabs/wazero/cmd/wazero

require (
	github.com/attn-go/attn v0.1.0
	github.com/mmcloughlin/avo v0.6.0
	github.com/tetratelabs/wazero v1.12.0 // indirect
	golang.org/x/arch v0.32.0
	golang.org/x/mod v0.42.0
	golang.org/x/sys v0.49.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
