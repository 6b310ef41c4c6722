# make test needs Go and make alone; what the others need is said beside them.

.DEFAULT_GOAL := help
.PHONY: help test bench mca generate drift lint vet fmt race v3 standalone fuzz qemu qemu-haswell qemu-nehalem

GOFMT     = $(shell go env GOROOT)/bin/gofmt
QEMU     ?= qemu-x86_64-static
FUZZTIME ?= 30s

# Flags for every go test below, such as -short, -v or -count=1.
TESTFLAGS ?=

# Flags for the bench command, such as ARGS='-shapes A,B -threads 1'.
ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-13s %s\n", $$1, $$2 }' Makefile

# The kernel's tests run by themselves, in their own folder: only then does go
# test print the list of the tiers that ran although all is well.
test: ## all tests of all modules (needs Go and make alone)
	go test $(TESTFLAGS) $$(go list work | grep -v '/attn/kernel$$')
	go test -C kernel $(TESTFLAGS)

bench: ## check all tiers on real input, then measure them; ARGS='-h' lists the flags
	go run ./bench $(ARGS)

mca: ## what llvm-mca predicts of the hottest loops, on seven CPUs (needs llvm)
	tools/mca.sh

generate: ## write asm/ anew with the generators in gen/
	go run ./gen

drift: ## fail if make generate would change, add or leave over a file of asm/
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && go run ./gen -dir "$$dir" && diff -r asm "$$dir" || \
		{ echo 'drift: asm/ is not what gen/ makes: run make generate' >&2; exit 1; }
	@new=$$(git ls-files --others -- asm) && test -z "$$new" || \
		{ printf 'drift: not under version control:\n%s\n' "$$new" >&2; exit 1; }

lint: fmt vet ## gofmt, and go vet for amd64, arm64 and purego

fmt: ## fail if gofmt would change a file
	@unformatted=$$($(GOFMT) -l .) && test -z "$$unformatted" || \
		{ printf 'gofmt -w is due for:\n%s\n' "$$unformatted" >&2; exit 1; }

vet: ## go vet of all modules for amd64, arm64 and purego
	GOARCH=amd64 go vet work
	GOARCH=arm64 go vet work
	go vet -tags purego work

race: ## the short tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -C kernel -race -short $(TESTFLAGS)

standalone: ## the root module's tests as a program that embeds it sees it, without go.work
	GOWORK=off go test $(TESTFLAGS) ./...

# There the compiler may fuse x*y+z, as it does on arm64 and others: the tests
# of the generic tier show where it does so against the contract.
V3_FEATURES = avx avx2 bmi1 bmi2 f16c fma abm movbe xsave

v3: ## generic built with GOAMD64=v3, where the CPU can run that
	@missing=; arch=$$(go env GOHOSTARCH); \
	if test "$$arch" != amd64; then missing=" (this is $$arch)"; \
	elif test -r /proc/cpuinfo; then \
		for f in $(V3_FEATURES); do \
			grep -m1 '^flags' /proc/cpuinfo | grep -qw "$$f" || missing="$$missing $$f"; \
		done; \
	fi; \
	if test -n "$$missing"; then echo "NOT RUN: the tests with GOAMD64=v3, as the CPU lacks$$missing"; exit 0; fi; \
	set -x; GOAMD64=v3 go test -tags purego $(TESTFLAGS) ./...

fuzz: ## fuzz shapes, strides and options for FUZZTIME (30s)
	go test -C kernel -run '^$$' -fuzz FuzzAttention -fuzztime $(FUZZTIME)

qemu: qemu-haswell qemu-nehalem ## the short tests on a CPU with AVX2 alone, and on one without (needs qemu-user)

# An AVX2 kernel that uses anything of AVX-512 dies on the first, and nowhere
# else. The first line of each makes sure that the emulated CPU is the right one.
# TestTierVariable starts itself anew, and the child would leave the emulator.
ON_QEMU   = GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go test
QEMU_TEST = -short -timeout 20m -skip '^TestTierVariable$$' $(TESTFLAGS)

qemu-haswell: ## the short tests on an emulated CPU with AVX2 and no AVX-512
	$(ON_QEMU) -C kernel -exec '$(QEMU) -cpu Haswell' -run '^$$' | grep 'tier avx2 is tested'
	$(ON_QEMU) -C kernel -exec '$(QEMU) -cpu Haswell' $(QEMU_TEST)

qemu-nehalem: ## the short tests on an emulated CPU without AVX
	$(ON_QEMU) -C kernel -exec '$(QEMU) -cpu Nehalem' -run '^$$' | grep 'tier avx2 is NOT tested'
	$(ON_QEMU) -C kernel -exec '$(QEMU) -cpu Nehalem' $(QEMU_TEST)
	$(ON_QEMU) -C fallback -exec '$(QEMU) -cpu Nehalem' $(QEMU_TEST)
