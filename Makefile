# apfsim: run `make help` for the targets.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

.PHONY: build
build: ## build bin/apfsim
	go build -ldflags "-X main.version=$(VERSION)" -o bin/apfsim ./cmd/apfsim

.PHONY: run
run: build ## build, and simulate elephants and mice into results/
	bin/apfsim run elephants-and-mice -o results

.PHONY: test
test: ## run all tests
	go test ./...

# The seed 0 draws one, and prints it.
SEED      := 0
DECISIONS := 1000000

.PHONY: conformance
conformance: ## compare DECISIONS (1000000) with k8s.io/apiserver, under SEED
	cd conformance && go test -count=1 -timeout 24h -v . -seed $(SEED) -decisions $(DECISIONS)

.PHONY: conformance-nightly
conformance-nightly: ## the same with twenty million
	$(MAKE) conformance DECISIONS=20000000

.PHONY: conformance-fixed
conformance-fixed: ## the same with a fixed seed and fewer, as CI does
	cd conformance && go vet ./... && go test -count=1 ./...

# One package and target a line; each gets FUZZTIME. A number of
# runs is better than a time: go test sometimes takes the end of the time for a failure
# ("context deadline exceeded").
FUZZTIME := 5000x
FUZZ := core/queueset:FuzzOperations core/config:FuzzDecode core/document:FuzzPath \
	core/estimate:FuzzNewRequest core/estimate:FuzzSelectors sim/yaml:FuzzParse \
	sim/scenario:FuzzScenario sim/scenario:FuzzTrace sim/scenario:FuzzThreshold

.PHONY: fuzz
fuzz: ## run every fuzz target FUZZTIME (5000x)
	@for f in $(FUZZ); do \
		go test ./$${f%%:*} -run '^$$' -fuzz "^$${f##*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
	done

.PHONY: bench
bench: ## run the benchmarks, in lines that benchstat reads
	go test -run '^$$' -bench . -benchmem ./...

ROUNDS  := 5
REGIMES := A,B,C,D,E
FORMAT  := text
PYTHON  := python3

.PHONY: bench-peers
bench-peers: ## measure apfsim beside upstream's queue set and others, in ROUNDS (5)
	cd conformance && go run ./peers -rounds $(ROUNDS) -regimes $(REGIMES) -format $(FORMAT) -python $(PYTHON)

.PHONY: lint
lint: ## check formatting, go vet and staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "the files above want gofmt"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

.PHONY: rewrite
rewrite: ## rewrite the golden files of all tests, to be read as a diff
	go test ./core/queueset ./reports ./cmd/apfsim -rewrite

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf bin results
