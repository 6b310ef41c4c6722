module github.com/attn-go/attn/models

go 1.26.0

require (
	github.com/attn-go/attn v0.0.0
	github.com/rivo/uniseg v0.4.7
	github.com/schollz/progressbar/v3 v3.19.1
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
	golang.org/x/text v0.43.0
)

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
)

replace github.com/attn-go/attn => ../
