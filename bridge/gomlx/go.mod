module github.com/attn-go/attn/bridge/gomlx

go 1.27.0

toolchain go1.27.3

require (
	github.com/attn-go/attn v0.1.0
	github.com/attn-go/attn/models v0.1.0
	github.com/gomlx/compute v0.1.14
	github.com/gomlx/go-huggingface v0.4.2
	github.com/gomlx/gomlx v0.28.16
)

require (
	github.com/edsrzf/mmap-go v1.2.0 // indirect
	github.com/eliben/go-sentencepiece v0.7.0 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/gofrs/flock v0.13.0 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/exp v0.0.0-20260908205506-85c1c2202aba // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	k8s.io/klog/v2 v2.140.0 // indirect
)
