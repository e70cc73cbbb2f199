# One target for each task. All of them need Go; `test`, `e2e` and `soak` install the other tools that they need: as root or with sudo, on Debian
# or Ubuntu.

.PHONY: build install release demo static unit test e2e soak bench bench-peers

# Builds one static binary with the version of the commit. Without debug information it is a third smaller.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -buildvcs=auto -o shunt ./cmd/shunt

# Copies the binary to PREFIX/bin.
PREFIX ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)
install: build
	@mkdir -p '$(PREFIX)/bin'
	@install -m 755 shunt '$(PREFIX)/bin/shunt'
	@echo 'installed $(PREFIX)/bin/shunt'
	@case ":$$PATH:" in *':$(PREFIX)/bin:'*) ;; *) echo '$(PREFIX)/bin is not in PATH: add it there, or call shunt by its full path' ;; esac

# Builds static binaries for Linux, macOS and Windows, with their checksums, in dist/.
release:
	go run ./scripts/release

# Runs a simulated provider, a gateway and simulated sessions. It needs no account and no network.
demo: build
	./shunt demo

# Checks the format, runs go vet (also for macOS and Windows) and staticcheck.
static:
	go run ./scripts/verify static

# The same, and all tests with the race detector.
unit:
	go run ./scripts/verify unit

# Everything that a change must pass: unit, every fuzz target for a few seconds, the real clients, a minute of the soak test.
test:
	scripts/test-tools
	go run ./scripts/verify test

e2e:
	scripts/test-tools
	go run ./scripts/verify e2e

# Runs sessions for the time SOAK on ten accounts, with faults of all kinds. SEED repeats the requests and faults of an earlier run.
SOAK = 10m
soak:
	scripts/test-tools
	cd e2e && go test -count=1 -v -timeout=0 -run='^TestSoak$$' . -soak=$(SOAK) $(if $(SEED),-soak.seed=$(SEED))

# Compares shunt with a bare reverse proxy, prints the figures and writes them to bench/RESULTS.md. Each measurement takes the time FOR. ROWS, a
# regular expression, selects measurements; then nothing is written.
FOR = 3s
bench: build
	cd bench && go run . -shunt ../shunt -for $(FOR) $(if $(ROWS),-only '$(ROWS)',-results RESULTS.md)

# Compares another gateway with a bare reverse proxy: make bench-peers PEER=http://127.0.0.1:4000 PID=1234 HEADER='x-api-key: ...'
# The gateway's upstream is MOCK; without PEER, only MOCK runs. FLAGS adds others, such as more headers.
MOCK = 127.0.0.1:8901
bench-peers:
	cd bench && go run . -upstream-listen $(MOCK) $(if $(PEER),-peer '$(PEER)' -for $(FOR)) $(if $(PID),-peer-pid $(PID)) $(if $(HEADER),-header '$(HEADER)') $(if $(ROWS),-only '$(ROWS)') $(FLAGS)
