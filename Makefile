# make help lists the targets. What a target needs beyond Go and make, it installs.

GO ?= go

# What the targets act on; set them on the command line, e.g.
#   make test PKG=./internal/wire TESTFLAGS='-run TestWrite -v'
#   make bench BENCH=mixed_10keys COUNT=10 > new.txt
PKG         ?= ./...
TESTFLAGS   ?=
TESTTIMEOUT ?= 10m
BENCH       ?= .
BENCHPKG    ?= ./internal/engine ./internal/resp ./internal/wire ./lanes
BENCHTIME   ?= 1s
COUNT       ?= 1
FUZZTIME    ?= 10s
DURATION    ?= 10m
SEED        ?= 1
SOAKFLAGS   ?=
SERVERS     ?=
SOAK        ?= 2m
SEEDS       ?= 500
FROM        ?= 1
SIMFLAGS    ?=
RUNS        ?= 10
LOOPS       ?= 4
PEERFLAGS   ?=
F           ?= bench/compare/settings/quick.yaml
COMPAREFLAGS ?=

# Each module is built, linted and tested with the versions of its own go.mod,
# even for those who have a go.work of their own.
export GOWORK = off

# The tools are pinned in tools/go.mod. "go tool -modfile=tools/go.mod golangci-lint"
# works from here as well, but it resolves the tool's 200 modules on every call
# and starts from nothing when the Go build cache is trimmed. So they are built
# once into bin/, from inside tools/, where the root module has no part in it.
# The names change with the version and with Go: a linter built by an older Go
# refuses newer code.
version_of        = $(shell awk '$$1 == "$(1)" && $$2 ~ /^v/ { print $$2 }' tools/go.mod)
GOVERSION        := $(shell $(GO) env GOVERSION)
GOLANGCI_LINT    := bin/golangci-lint-$(call version_of,github.com/golangci/golangci-lint/v2)-$(GOVERSION)
BENCHSTAT        := bin/benchstat-$(call version_of,golang.org/x/perf)-$(GOVERSION)

# Every module with Go code of its own: the root and the nested ones.
modules = $(shell find . -name go.mod -not -path './tools/*' -not -path './bin/*' | sed 's,/go.mod$$,,' | sort)

# A word without a slash matches a benchmark, or one of its parts: mixed_10keys is
# Scenario/mixed_10keys and others.
benches = $(BENCH)$(if $(findstring /,$(BENCH)),,|./$(BENCH)|././$(BENCH))

.DEFAULT_GOAL := help
.PHONY: help api test steady lint bench fuzz soak matrix sim faults mutants envoy peers compare results leases pages demo tools

help: ## List the targets, and how long each takes on two processors
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

test: ## All tests of all modules with -race; installs redis-server, Prometheus, redis-py and a C compiler if missing (5 min, the first time 20)
	@scripts/ensure-deps.sh redis-server cc prometheus
	@scripts/ensure-redis-py.sh
	@GO='$(GO)' scripts/test.sh $(PKG) -- -timeout $(TESTTIMEOUT) $(TESTFLAGS)

api: ## Write down every exported name of the public packages in api.txt (10 s)
	$(GO) run ./internal/api > api.txt.new && mv api.txt.new api.txt

steady: ## Run make test RUNS times (10) beside LOOPS busy loops (4); keeps the logs of failed runs (an hour and more)
	@scripts/ensure-deps.sh redis-server cc prometheus >&2
	@scripts/ensure-redis-py.sh
	@scripts/steady.sh $(RUNS) $(LOOPS)

lint: $(GOLANGCI_LINT) ## Run golangci-lint, version pinned in tools/go.mod (2 min; the first run builds it: 5 min more)
	@set -e; n=0; for module in $(modules); do \
		n=$$((n + 1)); echo "lint $$module: $$n of $(words $(modules)) modules"; \
		(cd "$$module" && "$(CURDIR)/$(GOLANGCI_LINT)" run --allow-serial-runners \
			--config "$(CURDIR)/.golangci.yml" ./...); \
	done

bench: ## Run the benchmarks one package at a time: BENCH, BENCHPKG, BENCHTIME, COUNT (some seconds for each benchmark)
	@scripts/ensure-deps.sh redis-server >&2
	@run() { REDISLANES_REQUIRE_REDIS=1 $(GO) -C "$$1" test -run '^$$' -bench '$(benches)' -benchmem -benchtime $(BENCHTIME) \
		-count $(COUNT) -timeout 2h -p 1 $$2; }; { run bench .; run . '$(BENCHPKG)'; } | awk '{ print; fflush() } \
		/^Benchmark/ { ran = 1 } /^(FAIL|--- FAIL)/ { failed = 1 } \
		END { if (!ran) print "make bench: no benchmark matches BENCH=$(BENCH)" > "/dev/stderr"; exit failed || !ran }'

fuzz: ## Run every fuzz target for FUZZTIME (10 s each: 3 min)
	@FUZZTIME=$(FUZZTIME) scripts/fuzz.sh $(PKG)
	@set -e; [ "$(PKG)" = ./... ] || exit 0; for module in $(filter-out .,$(modules)); do \
		grep -rqs --include='*_test.go' '^func Fuzz' "$$module" || continue; \
		echo "fuzz $$module"; \
		(cd "$$module" && FUZZTIME=$(FUZZTIME) "$(CURDIR)/scripts/fuzz.sh"); \
	done

soak: ## Reshard, fail over, stall and kill a cluster under load: DURATION, SEED (10 min)
	@scripts/ensure-deps.sh redis-server >&2
	@$(GO) build -o bin/soak ./internal/servers/cmd/soak
	@bin/soak -for $(DURATION) -seed $(SEED) $(SOAKFLAGS)

matrix: ## All tests, a soak (SOAK=2m) and the contract on each server: SERVERS, default all; logs in bin/matrix (an hour)
	@scripts/ensure-deps.sh redis-server cc >&2
	@SOAK=$(SOAK) scripts/matrix.sh full $(SERVERS)

sim: ## Run the client in random worlds: SEEDS=500 FROM=1 SIMFLAGS (a second for each world)
	@echo 'sim: $(SEEDS) worlds from seed $(FROM) on, about a second each; worlds that fail are printed at the end' >&2
	@$(GO) -C internal/sim test -count=1 -timeout 2h -run TestWorlds -sim.seeds=$(SEEDS) -sim.from=$(FROM) $(SIMFLAGS)

faults: ## Run the fault tests alone, without -race, and with strict deadlines; prints figures (minutes)
	@scripts/ensure-deps.sh redis-server >&2
	@REDISLANES_REQUIRE_REDIS=1 REDISLANES_STRICT=1 $(GO) test -count=1 -v -timeout $(TESTTIMEOUT) ./internal/faults
	@REDISLANES_REQUIRE_REDIS=1 $(GO) -C internal/tests test -count=1 -v -timeout $(TESTTIMEOUT) ./linear

envoy: ## Run the tests of Envoy's rate limit service with examples/envoydriver in it (minutes)
	@scripts/ensure-deps.sh redis-server >&2
	@examples/envoydriver/service-tests.sh

mutants: ## Take out one protection after the other: a test must fail for each (half an hour)
	@scripts/ensure-deps.sh redis-server cc >&2
	@REDISLANES_REQUIRE_REDIS=1 $(GO) run ./internal/mutants

peers: ## Measure ours beside rueidis, go-redis and radix, and print the goals: PEERFLAGS (half an hour)
	@scripts/ensure-deps.sh redis-server >&2
	@$(GO) build -C bench -o ../bin/peers ./peers
	@bin/peers $(PEERFLAGS)

compare: ## Compare the settings of a file: F, COMPAREFLAGS, e.g. F=bench/compare/settings/shop.yaml; plots in bin/compare-plots (as long as the file says)
	@scripts/ensure-deps.sh redis-server >&2
	@$(GO) build -C bench -o ../bin/compare ./compare
	@bin/compare -f $(F) -plots bin/compare-plots $(COMPAREFLAGS)

results: ## Measure what has no raw file in bench/raw yet, and write the tables of the pages (2 h, resumable)
	@scripts/ensure-deps.sh redis-server >&2
	@scripts/results.sh

leases: ## Measure what a key of package limit costs by its rate, with leases and without, for docs/leases.md (3 min)
	@scripts/ensure-deps.sh redis-server >&2
	@$(GO) run -C bench ./peers -leases -for 3s -raw raw/leases.jsonl.gz

pages: ## Write the tables, figures and plots of the pages from the raw files (20 s)
	@$(GO) run -C bench ./peers -rewrite .
	@$(GO) run -C bench ./compare -rewrite .
	@$(GO) run -C bench ./scale -rewrite .
	@$(GO) run -C examples/ratelimit ./ladder -rewrite ../../bench

demo: ## Run examples/quickstart (10 s)
	@scripts/ensure-deps.sh redis-server
	$(GO) run ./examples/quickstart

tools: $(GOLANGCI_LINT) $(BENCHSTAT) ## Build the pinned golangci-lint and benchstat into bin/ (5 min)
	@ln -sf $(notdir $(GOLANGCI_LINT)) bin/golangci-lint
	@ln -sf $(notdir $(BENCHSTAT)) bin/benchstat

$(GOLANGCI_LINT): tools/go.mod tools/go.sum
	@echo "building $@ (minutes with a cold cache)" >&2
	@$(GO) build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(BENCHSTAT): tools/go.mod tools/go.sum
	@$(GO) build -C tools -o ../$@ golang.org/x/perf/cmd/benchstat
	@touch $@
