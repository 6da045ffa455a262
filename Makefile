# Two promises (README.md): `make demo` and `make test` work on a fresh Debian 12 with Rust and Node.
TARGET := $(shell uname -m)-unknown-linux-musl
BINARY := target/$(TARGET)/release/backsight
# The machines that a release has agents for, and where these are built.
AGENTS := x86_64 aarch64
AGENTS_FOLDER := target/agents
# Where agents have to compile besides: those of other architectures, and FreeBSD's, which no release has.
ALSO_COMPILED := $(patsubst %,%-unknown-linux-musl,$(filter-out $(shell uname -m),$(AGENTS))) x86_64-unknown-freebsd
# What is only checked is not run: optimising what it has in C would take most of a minute.
C_UNOPTIMISED := --config profile.dev.package.libsqlite3-sys.opt-level=0 --config profile.dev.package.zstd-sys.opt-level=0
# Many tests wait more than they work: four at a time for two processors.
export NEXTEST_TEST_THREADS ?= $(shell expr $$(nproc) \* 2)
# Those of the catalogue that `make test` runs for real; `make catalogue` runs all.
COMMONEST := cyclictest dbench fio hackbench iperf3-tcp perf-sched-pipe pgbench redis-benchmark sysbench-cpu tbench
# Tools of Cargo that `scripts/setup` installs.
export PATH := $(PATH):$(CURDIR)/target/tools/bin

.PHONY: demo demo-history test missing-needs build release agents check unit commonest browser quality aa explain-quality bench bench-trace bench-profile scale kills faults images arm64 fuzz api-fuzz catalogue spread packages book coverage clean setup-build setup-demo setup-demo-history setup-test setup-bench setup-scale setup-aa setup-fuzz setup-api-fuzz setup-catalogue setup-coverage setup-dist

demo: setup-demo build      ## set up, build, run a real study, show the comparison
	scripts/demo $(BINARY)

demo-history: setup-demo-history build ## five versions of the Linux kernel: fetched, built, booted, measured, published
	scripts/demo-history $(BINARY)

test: setup-test missing-needs check unit commonest browser ## set up, run every check and test; says first and last what this machine lacks
	@scripts/missing-needs >/dev/null

missing-needs:              ## what tests need and this machine lacks: they are left out, by name
	@scripts/missing-needs

build: setup-build          ## the release binary: one static file
	cargo build --release --locked --target $(TARGET) -p backsight
	@echo "built $(BINARY)"

release: build agents       ## the same with the agents for other machines in it: still one file
	scripts/add-agents $(BINARY) $(AGENTS_FOLDER)

agents: setup-build         ## the agents for other machines, static and small: target/agents/backsight-agent-MACHINE
	mkdir -p $(AGENTS_FOLDER)
	for machine in $(AGENTS); do \
		cargo build --profile agent --locked --features pure --target $$machine-unknown-linux-musl -p backsight-agent-program && \
		cp target/$$machine-unknown-linux-musl/agent/backsight-agent $(AGENTS_FOLDER)/backsight-agent-$$machine || exit 1; \
	done

check:                      ## format, types of the pages' scripts, lints of what the static binary is made of, that the agents compile; licences, duplicates and sources of dependencies
	cargo fmt --all --check
	cd web && npm run --silent check
	cargo clippy $(C_UNOPTIMISED) --workspace --all-targets --locked --target $(TARGET) -- -D warnings
	cargo check --locked --features pure $(addprefix --target ,$(ALSO_COMPILED)) -p backsight-agent-program
	cargo deny --locked --log-level error check licenses bans sources

unit:                       ## unit, property and end-to-end tests; without those whose needs this machine lacks, which it says
# Most tests wait most of their time: two of them a processor.
	BACKSIGHT_SKIP=$${BACKSIGHT_SKIP-$$(scripts/missing-needs)} cargo nextest run --workspace --locked --test-threads $$((2 * $$(nproc)))
	cargo test --workspace --doc --locked --quiet

commonest:                  ## ten benchmarks that people use most, for real; after `unit`, which builds the binary
	scripts/catalogue target/debug/backsight $(COMMONEST)

browser:                    ## the pages in a real browser
	tests/browser/run

quality: setup-build        ## how often the statistics are right, on data whose truth is known: writes docs/quality.md
	scripts/quality

aa: setup-aa build          ## identical code measured by real tools: how often it is called different, quiet and beside a compile job
	scripts/aa $(BINARY)
	scripts/aa $(BINARY) --load busy

explain-quality: setup-test build ## made-up changes of a real program, explained: how often the right thing is named first, and something where nothing changed
	scripts/explain-quality $(BINARY)

bench: setup-bench agents   ## our figures beside the peers', measured here and now
	BACKSIGHT_AGENTS=$(CURDIR)/$(AGENTS_FOLDER) cargo bench --locked --target $(TARGET) -p backsight --bench figures --bench hosts --bench peers
	cargo bench --locked --target $(TARGET) -p backsight-settings --bench settings

bench-trace: setup-bench build ## the tracer beside strace, measured here and now
	scripts/bench-trace $(BINARY)

bench-profile: setup-bench build ## the profiler beside perf record, measured here and now
	scripts/bench-profile $(BINARY)

scale: setup-scale build    ## how a store grows and each command with it, on SQLite and PostgreSQL: writes the tables of docs/scale.md; half an hour; PARTS="history queue" are some
	scripts/scale $(BINARY) --write $(PARTS)

kills: setup-test           ## settings of a machine after kills at every point of a study and power cuts at every point of making them: about an hour
	cargo nextest run -p backsight-settings -p backsight -p backsight-agent-program --locked --run-ignored only --no-capture -E 'test(/killed_again_and_again|power_cuts_at_every_point/)'

faults: setup-test          ## every fault of tests/end_to_end/faults.tsv TIMES (20) times: about an hour
	scripts/faults $(or $(TIMES),20)

fuzz: setup-fuzz            ## each fuzz target for SECONDS (60), with libFuzzer: what breaks one is in fuzz/artifacts
	scripts/fuzz $(or $(SECONDS),60)

catalogue: setup-catalogue build ## every benchmark of the catalogue once, for real, its numbers read a second time by awk; for some only: NAMES="wrk fio"
	scripts/catalogue $(BINARY) $(NAMES)

spread: setup-catalogue build ## how much the benchmarks of the catalogue vary on this machine: benchmarks/spread.tsv; goes on where it stopped; MINUTES=60, for some only: NAMES="wrk fio"
	scripts/spread $(BINARY) --minutes $(or $(MINUTES),60) $(NAMES)

packages: setup-dist        ## archives and Debian packages for both machines, in target/dist; one installed, used and taken out in a Debian of its own
	cargo xtask dist
	cargo build --locked -p backsight
	cargo test --locked -p xtask --test packages -- --include-ignored

book:                       ## the documentation as a book, in target/book: needs mdbook, which `scripts/setup book` installs
	scripts/setup book
	cargo xtask book

api-fuzz: setup-api-fuzz    ## the read API asked for anything by schemathesis, for SECONDS (60) twice: no server's error, and every answer as its description says
	scripts/api-fuzz $(or $(SECONDS),60)

images: setup-test          ## an image of a cloud: made, set up by itself, measured on; a machine that a recipe makes; what a virtual machine keeps of what it wrote; a domain of libvirt that is set back before each trial, full, still, and one that can't be; a kernel that another one jumps into; the tracer's programs on Debian 12's kernel: about twenty minutes without KVM
	cargo nextest run -p backsight -p backsight-agent-program -p backsight-tracer --locked --run-ignored only --no-capture -E 'test(/on_debian_s_kernel|an_image_of_a_cloud|a_recipe_becomes_a_machine|a_domain_is_set_back|a_domain_that_can_not_go_back|what_a_machine_writes_stays|a_machine_jumps_into/)'

arm64: setup-arm64          ## the tracer's tests on an emulated machine of arm64 with Debian's kernel: about ten minutes; PART=a part of their names
	scripts/arm64 $(PART)

coverage: setup-coverage    ## which lines the tests run: of PACKAGES ("-p backsight-stats -p …"), else of all; the pages are in target/llvm-cov/html
	BACKSIGHT_SKIP=$${BACKSIGHT_SKIP-$$(scripts/missing-needs)} cargo llvm-cov nextest --locked $(or $(PACKAGES),--workspace) --html
	cargo llvm-cov report --summary-only

setup-build setup-demo setup-demo-history setup-test setup-bench setup-scale setup-aa setup-fuzz setup-api-fuzz setup-catalogue setup-coverage setup-arm64 setup-dist:
	@scripts/setup $(@:setup-%=%)

clean:
	cargo clean
