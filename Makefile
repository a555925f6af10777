# apfsim: run `make help` for the targets.

GOTESTSUM   := gotest.tools/gotestsum@v1.13.0
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
NFPM        := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
CYCLONEDX   := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
HELM        := helm.sh/helm/v3/cmd/helm@v3.19.2
KUSTOMIZE   := sigs.k8s.io/kustomize/kustomize/v5@v5.8.0
KREW        := sigs.k8s.io/krew/cmd/krew@v0.4.3

# The version is that of the tag, and between two tags the tag, the number of commits since then and the commit.
UNTAGGED = v0.0.0-$$(git rev-list --count HEAD)-g$$(git describe --always --dirty --match=)
VERSION := $(or $(shell git describe --tags --match 'v[0-9]*' --dirty 2>/dev/null || { git rev-parse -q HEAD > /dev/null 2>&1 && echo $(UNTAGGED); }),v0.0.0)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 22

# To build for another platform: make build GOOS=linux GOARCH=arm64. CACHE is a folder of compiled packages, instead of Go's own.
OUT   := bin/apfsim
CACHE :=

.PHONY: build
build: ## build bin/apfsim as a static binary
	$(if $(CACHE),GOCACHE=$(CACHE) )CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(OUT) ./cmd/apfsim

# Prints the name and the folder of each module in the program.
MODULES = go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/apfsim | sort -u

.PHONY: licenses
licenses: ## copy the licenses of all modules in bin/apfsim to bin/licenses
	rm -rf bin/licenses
	mkdir -p bin/licenses/go bin/licenses/uplot bin/licenses/codemirror
	cp LICENSE bin/licenses
	cp reports/render/uplot/LICENSE bin/licenses/uplot
	cp experiment/playground/page/codemirror/LICENSE bin/licenses/codemirror
	cp "$$(go env GOROOT)/LICENSE" bin/licenses/go
	$(MODULES) | while read -r name dir; do \
		mkdir -p "bin/licenses/$$name" && \
		find "$$dir" -maxdepth 2 -type f \( -ipath "$$dir/licen[cs]e*" -o -ipath "$$dir/copying*" -o -ipath "$$dir/notice*" \) -exec cp {} "bin/licenses/$$name" \; ; \
		ls "bin/licenses/$$name"/* > /dev/null || exit 1; \
	done

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Releases of the same commit are identical. This needs GNU tar; use TAR=gtar if tar is another one.
TAR   := tar
EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),0)
# Who publishes a release sets the URL of the folder from which its files can be downloaded, and who maintains its packages.
URL        := https://github.com/OWNER/apfsim/releases/download/$(VERSION)
MAINTAINER := apfsim <apfsim@localhost>

# The pages are written by their test, so that the program does not contain the libraries for that.
.PHONY: man
man: export SOURCE_DATE_EPOCH = $(EPOCH)
man: ## write a man page for each command to dist/man
	mkdir -p dist/man
	go test ./cmd/apfsim -count=1 -ldflags "-X apfsim/cmd/apfsim.version=$(VERSION)" -run '^TestManPages$$' -args -man $(CURDIR)/dist/man

# A release has an archive and an SBOM for each platform, a deb and an rpm for each architecture of Linux, an image, a
# Homebrew formula, a manifest for krew, and the checksums of all of them.
.PHONY: release
release: export SOURCE_DATE_EPOCH = $(EPOCH)
release: export TZ = UTC
release: build ## build archives, packages, an image and their SBOMs and checksums for PLATFORMS in dist/, see docs/install.md
	@case "$(VERSION)" in *-*) ;; *) grep -qE '^## $(VERSION)( |$$)' CHANGELOG.md || { echo 'CHANGELOG.md has no section "## $(VERSION)"'; exit 1; };; esac
	rm -rf dist
	mkdir -p dist/completions
	$(MAKE) man VERSION=$(VERSION)
	for shell in bash fish powershell zsh; do bin/apfsim completion $$shell > dist/completions/apfsim.$$shell || exit 1; done
	for platform in $(PLATFORMS); do \
		system=$${platform%/*}; arch=$${platform#*/}; name=apfsim_$(VERSION)_$${system}_$$arch; \
		program=apfsim; case $$system in windows) program=apfsim.exe;; esac; \
		$(MAKE) build licenses VERSION=$(VERSION) GOOS=$$system GOARCH=$$arch OUT=dist/$$name/$$program && \
		cp -R README.md CHANGELOG.md bin/licenses dist/man dist/completions dist/$$name && \
		chmod -R go=rX dist/$$name && find dist/$$name -exec touch -h -d @$(EPOCH) {} + && \
		$(TAR) -C dist --sort=name --owner=0 --group=0 --numeric-owner -cf - $$name | gzip -n9 > dist/$$name.tar.gz && \
		go run $(CYCLONEDX) bin -json -std -noserial -notimestamp -version $(VERSION) -output dist/$$name.cdx.json dist/$$name/$$program && \
		case $$system in linux) for kind in deb rpm; do \
			DIR=dist/$$name ARCH=$$arch VERSION=$(VERSION) URL='$(URL)' MAINTAINER='$(MAINTAINER)' \
				go run $(NFPM) package --config release/nfpm.yaml --packager $$kind --target dist/$$name.$$kind || exit 1; \
		done;; esac && \
		rm -rf dist/$$name || exit 1; \
	done
	rm -rf dist/man dist/completions bin/licenses
	go run -C release . -dist ../dist -version $(VERSION) -epoch $(EPOCH) -url '$(URL)'
	cd dist && sha256sum * > SHA256SUMS

# Variables of the command line hold in both. The second time, the cache of compiled packages is empty: it would hide that a result
# depends on the folder.
.PHONY: release-check
release-check: ## build the release of the last commit twice, in different folders, compare the bytes, and leave it in dist/
	@dir=$$(mktemp -d) && trap "rm -rf $$dir" EXIT && \
	git clone -q . $$dir/one && git clone -q . $$dir/second/copy && \
	$(MAKE) -C $$dir/one release && \
	$(MAKE) -C $$dir/second/copy release CACHE=$$dir/cache && \
	diff -r $$dir/one/dist $$dir/second/copy/dist && \
	rm -rf dist && cp -R $$dir/one/dist . && echo "both times the same:" && cat dist/SHA256SUMS

# It tests the release in dist/, which make release or make release-check has made for this machine at least.
.PHONY: install-check
install-check: ## run the programs of the release in dist/, and the commands of docs/install.md with it
	mkdir -p bin
	GOBIN=$(CURDIR)/bin go install $(KREW) || echo "krew is not built"
	PATH="$(CURDIR)/bin:$$PATH" go test ./cmd/apfsim -count=1 -v -timeout $(TIMEOUT) -run '^(TestRelease.*|TestInstallGuide)$$' -args -dist $(CURDIR)/dist
	cd release && go vet . && go test -count=1 .

# It builds both programs, which takes minutes the first time.
.PHONY: charts
charts: ## check what Helm and Kustomize print of a chart and of a patch
	mkdir -p bin
	GOBIN=$(CURDIR)/bin go install $(HELM)
	GOBIN=$(CURDIR)/bin go install $(KUSTOMIZE)
	PATH="$(CURDIR)/bin:$$PATH" go test ./cmd/apfsim -count=1 -v -run '^TestScripts$$/^charts$$'

.PHONY: playground
playground: ## build the page in which a browser runs the simulator, as static files in dist/playground
	rm -rf dist/playground
	mkdir -p dist/playground
	cp -R experiment/playground/page/. reports/render/palette.css dist/playground
	gzip -d dist/playground/codemirror/codemirror.js.gz
	cp LICENSE "$$(go env GOROOT)/lib/wasm/wasm_exec.js" dist/playground
	GOOS=js GOARCH=wasm go build -trimpath $(PGO) -ldflags "-s -w" -o dist/playground/apfsim.wasm ./cmd/playground

.PHONY: playground-test
playground-test: playground ## run all scenarios of the library of at most 500000 requests in headless Chromium
	go test ./experiment/playground -count=1 -timeout $(TIMEOUT) -v -run Browser -args -library

.PHONY: playground-speed
playground-speed: playground ## compare the processor time of runs natively and in headless Chromium, and time the first view
	go test $(PGO) ./experiment/playground -count=1 -timeout $(TIMEOUT) -v -run 'Speed|FirstView' -args -speed 5

.PHONY: run
run: build ## build, and simulate elephants and mice into results/
	bin/apfsim run elephants-and-mice -o results

# The time for the tests of one package. No test depends on time, so that a slow machine only takes longer.
TIMEOUT := 3h

# Without go vet, which make lint runs, and without the profile, with which all packages would be compiled twice: make test-long
# has it. The tests allocate much and keep little, so that more memory saves a fifth of their time.
.PHONY: test
test: export GOGC = 400
test: ## run all tests
	go run $(GOTESTSUM) --format pkgname-and-test-fails -- -vet=off -pgo=off -timeout $(TIMEOUT) ./...

# The packages whose tests have the flag -long: what they prove over many cases, make test proves over a part of them.
LONG = $(shell grep -rl --include='*_test.go' 'flag.Bool."long"' $(filter-out live/,$(wildcard */)) | xargs -n1 dirname | sort -u | sed 's|^|./|')

.PHONY: test-long
test-long: export GOGC = 400
test-long: ## run all cases of the tests of which make test runs a part
	go test $(LONG) -count=1 -timeout $(TIMEOUT) -long

LOGS := 200

.PHONY: capacity-proof
capacity-proof: ## estimate known capacities from LOGS (200) logs of each kind, and print how many intervals have them; hours
	go test ./experiment/fit/sharing -v -count=1 -timeout $(TIMEOUT) -run '^TestCapacityOfKnownSystems$$' -args -table -logs $(LOGS)

SHOTS := bin/screenshots

.PHONY: screenshots
screenshots: ## save screenshots of all charts and pages, by headless Chromium, in SHOTS (bin/screenshots)
	mkdir -p $(SHOTS)
	go test ./reports -count=1 -run '^(TestSVGIsDrawnAsPNG|TestPagesFitTheirScreens)$$' -args -shots $(abspath $(SHOTS))

# With SEED=0, the tests draw a random seed and print it. VERSION on the command line is the release
# to compare with, such as 1.24, a list of releases separated by commas, or all. Without it, that is
# the newest one, whose state is compared, too.
SEED      := 0
RELEASES  := $(if $(filter command,$(origin VERSION)),$(VERSION))
DECISIONS := $(if $(RELEASES),100000,1000000)

.PHONY: conformance
conformance: ## compare DECISIONS (1000000) with k8s.io/apiserver, from SEED; of another release: VERSION=1.24
	cd lab/conformance && go test -count=1 -timeout 24h -v . -seed $(SEED) -decisions $(DECISIONS) \
		$(if $(RELEASES),-run '^TestReleases$$' -version $(RELEASES))

.PHONY: conformance-all
conformance-all: ## compare DECISIONS (100000) with each supported release
	$(MAKE) conformance VERSION=all

.PHONY: conformance-golden
conformance-golden: ## draw the golden trials anew, and let each release decide them
	cd lab/conformance && go test -count=1 -timeout 24h -run '^TestRewriteGolden$$' -v . -seed 1 -rewrite trials
	cd lab/conformance && go test -count=1 -timeout 24h -run '^TestRewriteGolden$$' -v . -rewrite all

.PHONY: conformance-nightly
conformance-nightly: ## compare twenty million decisions
	$(MAKE) conformance DECISIONS=20000000

.PHONY: conformance-fixed
conformance-fixed: ## compare fewer decisions, with a fixed seed, as CI does
	cd lab/conformance && go vet ./... && go test -vet=off -count=1 ./...

.PHONY: conformance-upstream-tests
conformance-upstream-tests: ## run the tests of k8s.io/apiserver's flow control with apfsim's core
	cd lab/conformance && go test -count=1 -v ./upstreamtests -args -realtime

.PHONY: engine
engine: ## run the scenarios of the library of at most 200000 requests with the flow control of k8s.io/apiserver
	cd lab/conformance && go test -count=1 -timeout 24h -v ./engine -library

# It is not part of CI, because it builds a large part of Kubernetes.
TRIALS := 20000

.PHONY: conformance-maintain
conformance-maintain: ## compare TRIALS (20000) of maintained objects with k8s.io/kubernetes, from SEED
	cd lab/conformance/maintain && go vet . && go test -count=1 -timeout 24h -v . -seed $(SEED) -trials $(TRIALS)

# The fuzz targets, as package:target. FUZZTIME is a number of runs and not a duration, because
# go test sometimes reports the end of a duration as a failure ("context deadline exceeded").
FUZZTIME := 5000x
FUZZ = $(shell grep -r --include='*_test.go' '^func Fuzz' $(filter-out live/ lab/,$(wildcard */)) | sed -E 's|/[^/]*_test.go:func ([A-Za-z0-9_]+).*|:\1|' | sort)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (5000x)
	@for f in $(FUZZ); do \
		go test ./$${f%%:*} -run '^$$' -fuzz "^$${f##*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x || exit 1; \
	done

# N is how many scenarios are run. With SEED=0, the first seed is random, and printed.
N := 1000

# Each problem has an answer that follows from a formula. With ten base seeds, this takes up to an hour.
BASESEEDS := 10

.PHONY: tune-problems
tune-problems: ## let apfsim tune solve all problems whose answers are known, with BASESEEDS (10) base seeds
	go test ./experiment/tune -count=1 -timeout 24h -v -run '^TestProblems$$' -args -baseseeds $(BASESEEDS)

# A problem takes about ten seconds of a core.
PROBLEMS := 40

.PHONY: tune-random
tune-random: ## let apfsim tune solve PROBLEMS (40) random problems, and search for their answers exhaustively
	go test ./experiment/tune -count=1 -timeout 24h -v -run '^Test(RandomProblems|PromisedProbability)$$' -args -randomproblems $(PROBLEMS)

# An overload takes about ten seconds of a core.
OVERLOADS := 500

.PHONY: advice-check
advice-check: ## run candidates of tune for OVERLOADS (500) random overloads beside a control plane that it does not know
	go test ./experiment/tune -count=1 -timeout 24h -v -run '^TestCandidatesSpareAControlPlaneThatIsNotInTheScenario$$' -args -overloads $(OVERLOADS)

.PHONY: random
random: ## run N (1000) random scenarios, from SEED, and recompute their sums from their logs
	go test ./reports/randomscenario -count=1 -timeout 24h -v -run '^TestRandomScenarios$$' -args -n $(N) -seed $(SEED)

.PHONY: judgement-random
judgement-random: ## judge N (1000) random scenarios that are healthy, with faults, and any, and run these without their first causes
	go test ./reports/randomscenario -count=1 -timeout 24h -v -run '^Test(HealthyScenariosAreOK|FirstCausesOf.*)$$' -args -long -n $(N) -seed $(or $(filter-out 0,$(SEED)),1)

# Each case of lab/judgement is run with SEEDS seeds.
SEEDS := 10

.PHONY: judgement
judgement: ## compare the verdicts on systems whose truth is known with it, with SEEDS (10) seeds
	go test ./lab/judgement -count=1 -timeout $(TIMEOUT) -v -run '^TestJudgement$$' -args -seeds $(SEEDS)

# It searches for remedies, too, and takes an hour or more.
.PHONY: judgement-logs
judgement-logs: ## compare what is said of the logs of these systems, in five forms, with their truth
	go test ./lab/judgement -count=1 -timeout 24h -v -run '^TestJudgementOfLogs$$' -args -seeds 1

# N mutants are drawn from SEED. AGAIN is a file with the output of an earlier run, of which
# only the survivors are run again. See lab/tests.md.
PACKAGE :=
AGAIN   :=

.PHONY: mutants
mutants: N := 100
mutants: SEED := 1
mutants: ## run the tests of PACKAGE, such as ./core/seats, on N (100) random changes of it, from SEED (1)
	go run ./lab/mutants -n $(N) -seed $(SEED) -equivalent lab/tests.md $(if $(AGAIN),-again $(AGAIN)) $(PACKAGE)

# It takes hours. The test of the program measures a part of it.
COVERAGE :=

.PHONY: coverage
coverage: ## measure how often intervals contain the truth; a part: COVERAGE="-loads 0.8 -windows 10s -runs 5,10"
	go run $(PGO) ./lab/coverage $(COVERAGE)

# The profile for profile-guided optimization. Go uses it without a flag when it builds
# cmd/apfsim. Benchmarks of other packages need the flag, to measure the same code.
PROFILE := cmd/apfsim/default.pgo
PGO     := -pgo=$(CURDIR)/$(PROFILE)

.PHONY: profile
profile: ## record the profile for profile-guided optimization
	mkdir -p bin
	go test ./sim -run '^$$' -bench '^BenchmarkRun$$/^[ABC]$$' -benchtime 5000000x -o bin/sim.test -cpuprofile bin/sim.pprof
	go test ./sim -run '^$$' -bench '^BenchmarkRun$$/^G$$' -benchtime 500000x -o bin/sim.test -cpuprofile bin/store.pprof
	go test ./cmd/apfsim -run '^TestLibrary$$' -o bin/library.test -cpuprofile bin/library.pprof
	go tool pprof -proto bin/sim.pprof bin/store.pprof bin/library.pprof > $(PROFILE)
	rm bin/*.test bin/*.pprof

.PHONY: bench
bench: ## run the benchmarks, except those of several minutes, for benchstat
	go test $(PGO) -short -run '^$$' -bench . -benchmem ./...

# It fails if a request allocates more than it may. The times are printed, and do not matter, so that it needs no build with the
# profile.
.PHONY: bench-regimes
bench-regimes: ## simulate some requests of each regime of lab/performance.md, as CI does
	go test ./sim -run '^$$' -bench '^BenchmarkRun$$' -benchtime 100000x

# REQUESTS is the number of requests in a measurement of bench-peers; 0 stands for as many as take seconds.
ROUNDS   := 5
REQUESTS := 0
REGIMES  := A,B,C,D,E,F,G,H
FORMAT   := text
PYTHON   := python3

.PHONY: bench-peers
bench-peers: ## compare the speed of apfsim with upstream's queue set and others, in ROUNDS (5)
	cd lab/conformance && go run $(PGO) ./peers -rounds $(ROUNDS) -requests $(REQUESTS) -regimes $(REGIMES) -format $(FORMAT) -python $(PYTHON)

# The targets below measure the sections of lab/performance.md. FIGURES does not change
# the document if its input is incomplete, for example because a benchmark has failed.
FIGURES := go run ./lab/figures

.PHONY: bench-size
bench-size: ## measure time against size, in ROUNDS (5), for lab/performance.md
	@for round in $$(seq $(ROUNDS)); do \
		go test $(PGO) ./sim -run '^$$' -bench '^BenchmarkSize$$' -benchtime 2000000x -timeout 1h; \
	done | tee /dev/stderr | $(FIGURES) sizes

.PHONY: bench-memory
bench-memory: ## measure memory, in ROUNDS (5), for lab/performance.md
	@for round in $$(seq $(ROUNDS)); do \
		go test $(PGO) ./sim -run '^$$' -bench '^BenchmarkMemory$$' -benchtime 1x -timeout 1h; \
	done | tee /dev/stderr | $(FIGURES) memory

.PHONY: bench-parts
bench-parts: ## measure the time of each part of the simulator, for lab/performance.md
	@dir=$$(mktemp -d) && trap "rm -rf $$dir" EXIT && \
	for regime in A B C; do \
		go test $(PGO) ./sim -run '^$$' -bench "^BenchmarkRun$$/^$$regime$$" -benchtime 20000000x \
			-o $$dir/sim.test -cpuprofile $$dir/cpu && \
		go tool pprof -top -unit=ms -nodefraction=0 -nodecount=100000 $$dir/sim.test $$dir/cpu; \
	done | $(FIGURES) parts

.PHONY: list-costs
list-costs: ## simulate a published table of the costs of lists, for lab/list-costs.md
	$(FIGURES) -document lab/list-costs.md list-costs < lab/figures/list-costs.csv

.PHONY: performance
performance: bench-size bench-memory bench-parts ## measure all sections of lab/performance.md
	@tables=$$(mktemp) && trap "rm -f $$tables" EXIT && \
	(cd lab/conformance && go run $(PGO) ./peers -rounds $(ROUNDS) -format markdown -python $(PYTHON)) > $$tables && \
	$(FIGURES) peers < $$tables

# It takes minutes, and the same commit always writes the same text.
.PHONY: incidents
incidents: build ## run the scenarios of published incidents, and write docs/incidents.md
	bin/apfsim scenarios list --incidents --format markdown > bin/incidents.md
	$(FIGURES) -document docs/incidents.md incidents < bin/incidents.md

# It takes minutes. The tables are printed.
.PHONY: alerts
alerts: ## evaluate the alerts of integrations/prometheus in all scenarios of the library
	go test ./experiment/alerts -count=1 -v -timeout $(TIMEOUT) -run '^TestLibrary$$' -args -long

# It takes five minutes of real time, and is skipped without the program prometheus.
.PHONY: alerts-prometheus
alerts-prometheus: ## compare apfsim alerts with a Prometheus that scrapes a run
	go test ./experiment/alerts -count=1 -v -timeout $(TIMEOUT) -run '^TestPrometheusAgrees$$' -args -prometheus

LIVE :=

.PHONY: live
live: ## compare with a live kube-apiserver, which it builds and runs; of some cases: LIVE="-runs 1 elephant"
	go build -C lab/live -o ../../bin/livetest ./cmd/livetest
	bin/livetest -document lab/live.md $(LIVE)

# With SEED=0, the sequences are random, and the seeds are printed. CALLS are those of each of SEQUENCES.
SEQUENCES := 10
CALLS     := 1000

.PHONY: live-store
live-store: ## compare the simulated store with a live kube-apiserver, in SEQUENCES (10) of CALLS (1000), from SEED
	go build -C lab/live -o ../../bin/apicalls ./cmd/apicalls
	bin/apicalls -replay scenarios/traces/*.jsonl
	bin/apicalls -seed $(SEED) -sequences $(SEQUENCES) -calls $(CALLS)

.PHONY: live-prometheus
live-prometheus: ## diagnose a live kube-apiserver by a Prometheus that scrapes it, and by its blocks
	cd lab/live && go test ./trial -count=1 -v -timeout $(TIMEOUT) -run '^TestDiagnoseByPrometheus$$' -args -live

.PHONY: live-kubectl
live-kubectl: ## try who, top and collect of the plugin of kubectl on a live kube-apiserver
	cd lab/live && go test ./trial -count=1 -v -timeout $(TIMEOUT) -run '^TestPluginOfKubectl$$' -args -live

.PHONY: apfsim-live
apfsim-live: ## build bin/apfsim-live, which sends a scenario to a cluster, and measures capacities
	CGO_ENABLED=0 go build -C live -trimpath -ldflags "-s -w" -o ../bin/apfsim-live ./cmd/apfsim-live

.PHONY: live-parts
live-parts: ## test the parts of the live test, and apfsim-live, without a server
	for module in live lab/live; do (cd $$module && go vet ./... && go test -count=1 ./...) || exit 1; done

.PHONY: library
library: ## test the module that uses apfsim as a library
	cd docs/examples/library && go vet ./... && go test -count=1 ./...

.PHONY: schema
schema: ## write the JSON Schema of scenario files, sim/scenario/schema.json, from the Go types
	go run -C lab/schema .

.PHONY: schema-current
schema-current: ## check that make schema would change nothing
	cd lab/schema && go vet ./... && go test -count=1 ./...

.PHONY: layout
layout: ## write the table of packages into docs/background/layout.md, and the API into docs/reference/api.txt
	go run ./docs/layout

.PHONY: lint
lint: ## check formatting, go vet and staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on the files above"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

# The folders of the other modules. That of lab/conformance/releases/driver is written anew for each release.
OTHER_MODULES := live lab/live lab/live/binaries lab/conformance lab/conformance/maintain lab/schema release docs/examples/library

.PHONY: lint-all
lint-all: lint ## check all modules, as make lint does the main one
	@for module in $(OTHER_MODULES); do \
		echo "go vet and staticcheck in $$module"; \
		(cd $$module && go vet ./... && go run $(STATICCHECK) ./...) || exit 1; \
	done

.PHONY: tidy
tidy: ## check that go.mod and go.sum of all modules are as go mod tidy writes them
	@for module in . $(OTHER_MODULES); do (cd $$module && go mod tidy -diff) || exit 1; done

# The profile changes what is inlined, and not whether it builds.
.PHONY: platforms
platforms: ## build for all PLATFORMS, and keep nothing
	@for platform in $(PLATFORMS); do \
		echo "building for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -pgo=off -o /dev/null ./cmd/apfsim || exit 1; \
	done

# Without the list of vulnerabilities, which is on the internet, this says so and does not fail.
.PHONY: vulnerabilities
vulnerabilities: ## look for known vulnerabilities in what bin/apfsim calls
	@if out=$$(go run $(GOVULNCHECK) ./cmd/apfsim 2>&1); then echo "$$out"; \
	elif echo "$$out" | grep -q 'fetching vulnerabilities'; then echo "not checked: $$out"; \
	else echo "$$out"; exit 1; fi

# The packages that start goroutines, or whose values several goroutines use, except the program and the fit, whose tests take
# minutes under the race detector: make nightly runs them, too.
RACE := ./experiment ./internal/atomicfile ./reports/record ./sim/scenario/loader ./sim/trace

.PHONY: race
race: ## test what has goroutines under the race detector, which needs a C compiler
	@if command -v $$(go env CC) > /dev/null; then \
		go test -race -short -timeout $(TIMEOUT) $(RACE); \
	else echo "not checked: the race detector needs a C compiler"; fi

# What takes longer than the checks of a commit may.
.PHONY: nightly
nightly: lint-all tidy vulnerabilities platforms race ## check what takes hours
	go test -race -timeout $(TIMEOUT) ./...
	for module in live lab/live; do (cd $$module && go test -race -timeout $(TIMEOUT) ./...) || exit 1; done
	$(MAKE) test-long
	$(MAKE) fuzz FUZZTIME=200000x
	$(MAKE) random N=10000
	$(MAKE) judgement-random
	$(MAKE) conformance-nightly
	$(MAKE) conformance-upstream-tests
	$(MAKE) engine
	$(MAKE) conformance-all
	$(MAKE) conformance-maintain
	$(MAKE) alerts-prometheus
	$(MAKE) live-prometheus
	$(MAKE) live-kubectl
	$(MAKE) release-check install-check

# The packages whose tests have the flag -rewrite, which those with scripts have from datadriven.
GOLDEN = $(shell grep -rlE --include='*_test.go' 'flag.Bool."rewrite"|cockroachdb/datadriven' $(filter-out live/ lab/,$(wildcard */)) | xargs -n1 dirname | sort -u | sed 's|^|./|')

.PHONY: rewrite
rewrite: ## rewrite the golden files of all tests, and print what changed; review the diff before committing
	go test $(GOLDEN) -rewrite
	@git diff --numstat -- README.md docs '*/testdata/*' | awk -F'\t' '{ \
		kind = $$3; sub("/[^/]*$$", "", kind); files[kind]++; added[kind] += $$1; removed[kind] += $$2 } \
		END { for (kind in files) printf "%s: %d files, %d lines added, %d removed\n", kind, files[kind], added[kind], removed[kind] }' | sort

.PHONY: clean
clean: ## remove the output of the other targets
	rm -rf bin dist results
