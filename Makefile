# apfsim: run `make help` for the targets.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VERSION     := $(shell git describe --tags --always --dirty 2>/dev/null)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

# For another platform than this one: make build GOOS=linux GOARCH=arm64.
.PHONY: build
build: ## build bin/apfsim, static
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/apfsim ./cmd/apfsim

# The names and folders of the modules in the program.
MODULES = go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/apfsim | sort -u

.PHONY: licenses
licenses: ## collect the licences of all that is in bin/apfsim in bin/licenses
	rm -rf bin/licenses
	mkdir -p bin/licenses/go bin/licenses/uplot
	cp LICENSE bin/licenses
	cp reports/uplot/LICENSE bin/licenses/uplot
	cp "$$(go env GOROOT)/LICENSE" bin/licenses/go
	$(MODULES) | while read -r name dir; do \
		mkdir -p "bin/licenses/$$name" && \
		find "$$dir" -maxdepth 1 \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) -exec cp {} "bin/licenses/$$name" \; ; \
		ls "bin/licenses/$$name"/* > /dev/null || exit 1; \
	done

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Archives of the same commit have the same bytes. Needs GNU tar: TAR=gtar elsewhere.
TAR   := tar
EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)

.PHONY: release
release: build ## make archives for all PLATFORMS, and SHA256SUMS, in dist/
	rm -rf dist
	mkdir -p dist/completions
	bin/apfsim man dist/man
	for shell in bash fish powershell zsh; do bin/apfsim completion $$shell > dist/completions/apfsim.$$shell || exit 1; done
	for platform in $(PLATFORMS); do \
		name=apfsim_$(VERSION)_$${platform%/*}_$${platform#*/}; \
		program=apfsim; case $$platform in windows/*) program=apfsim.exe;; esac; \
		$(MAKE) build licenses GOOS=$${platform%/*} GOARCH=$${platform#*/} && \
		mkdir dist/$$name && cp -R README.md bin/licenses dist/man dist/completions dist/$$name && \
		cp bin/apfsim dist/$$name/$$program && \
		$(TAR) -C dist --sort=name --mtime=@$(EPOCH) --owner=0 --group=0 --numeric-owner --mode=go=rX -cf - $$name | gzip -n9 > dist/$$name.tar.gz && \
		rm -rf dist/$$name || exit 1; \
	done
	rm -rf dist/man dist/completions bin/licenses
	cd dist && sha256sum *.tar.gz > SHA256SUMS
	$(MAKE) build

.PHONY: run
run: build ## build, and simulate elephants and mice into results/
	bin/apfsim run elephants-and-mice -o results

.PHONY: test
test: ## run all tests
	go test ./...

SHOTS := bin/screenshots

.PHONY: screenshots
screenshots: ## draw all charts and pages in headless Chromium into SHOTS (bin/screenshots), to be looked at
	mkdir -p $(SHOTS)
	go test ./reports -count=1 -run '^(TestSVGIsDrawnAsPNG|TestPagesFitTheirScreens)$$' -args -shots $(abspath $(SHOTS))

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
FUZZ := core/queueset:FuzzOperations core/config:FuzzDecode document:FuzzPath \
	core/estimate:FuzzNewRequest core/estimate:FuzzSelectors document/yaml:FuzzParse \
	sim/scenario:FuzzScenario sim/trace:FuzzTrace sim/metric:FuzzThreshold \
	sim/metric:FuzzParseName experiment:FuzzOver lint:FuzzCheck

.PHONY: fuzz
fuzz: ## run every fuzz target FUZZTIME (5000x)
	@for f in $(FUZZ); do \
		go test ./$${f%%:*} -run '^$$' -fuzz "^$${f##*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
	done

# What the compiler optimizes for. Where cmd/apfsim is built, Go finds it by itself; what is
# measured elsewhere is to be compiled in the same way.
PROFILE := cmd/apfsim/default.pgo
PGO     := -pgo=$(CURDIR)/$(PROFILE)

.PHONY: profile
profile: ## measure anew what the compiler optimizes for
	mkdir -p bin
	go test ./sim -run '^$$' -bench '^BenchmarkRun$$' -benchtime 5000000x -o bin/sim.test -cpuprofile bin/sim.pprof
	go test ./cmd/apfsim -run '^TestLibrary$$' -count 5 -o bin/library.test -cpuprofile bin/library.pprof
	go tool pprof -proto bin/sim.pprof bin/library.pprof > $(PROFILE)
	rm bin/*.test bin/*.pprof

.PHONY: bench
bench: ## run the benchmarks but those of minutes, in lines that benchstat reads
	go test $(PGO) -short -run '^$$' -bench . -benchmem ./...

ROUNDS  := 5
REGIMES := A,B,C,D,E
FORMAT  := text
PYTHON  := python3

.PHONY: bench-peers
bench-peers: ## measure apfsim beside upstream's queue set and others, in ROUNDS (5)
	cd conformance && go run $(PGO) ./peers -rounds $(ROUNDS) -regimes $(REGIMES) -format $(FORMAT) -python $(PYTHON)

# The sections of docs/background/performance.md, measured anew. FIGURES refuses what is
# not complete, so that a benchmark that fails leaves the document as it was.
FIGURES := go run ./docs/figures

.PHONY: bench-size
bench-size: ## measure cost against size, in ROUNDS (5), into docs/background/performance.md
	@for round in $$(seq $(ROUNDS)); do \
		go test $(PGO) ./sim -run '^$$' -bench '^BenchmarkSize$$' -benchtime 2000000x -timeout 1h; \
	done | tee /dev/stderr | $(FIGURES) sizes

.PHONY: bench-memory
bench-memory: ## measure memory, in ROUNDS (5), into docs/background/performance.md
	@for round in $$(seq $(ROUNDS)); do \
		go test $(PGO) ./sim -run '^$$' -bench '^BenchmarkMemory$$' -benchtime 1x -timeout 1h; \
	done | tee /dev/stderr | $(FIGURES) memory

.PHONY: bench-parts
bench-parts: ## profile where the time goes, into docs/background/performance.md
	@dir=$$(mktemp -d) && trap "rm -rf $$dir" EXIT && \
	for load in 0.9 1.2 1.05; do \
		go test $(PGO) ./sim -run '^$$' -bench "^BenchmarkRun$$/^load=$$load$$" -benchtime 20000000x \
			-o $$dir/sim.test -cpuprofile $$dir/cpu && \
		go tool pprof -top -unit=ms -nodefraction=0 -nodecount=100000 $$dir/sim.test $$dir/cpu; \
	done | $(FIGURES) parts

.PHONY: performance
performance: bench-size bench-memory bench-parts ## these three and bench-peers, into docs/background/performance.md
	@tables=$$(mktemp) && trap "rm -f $$tables" EXIT && \
	(cd conformance && go run $(PGO) ./peers -rounds $(ROUNDS) -format markdown -python $(PYTHON)) > $$tables && \
	$(FIGURES) peers < $$tables

.PHONY: lint
lint: ## check formatting, go vet and staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "the files above want gofmt"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

.PHONY: rewrite
rewrite: ## rewrite the golden files of all tests, to be read as a diff
	go test ./core/queueset ./reports ./cmd/apfsim ./lint -rewrite

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf bin dist results
