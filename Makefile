# The work of the project, one target each. Everything needs Go; `test`, `e2e` and `soak` install what else they need: with root or sudo, on Debian or Ubuntu.

.PHONY: build demo static unit test e2e soak bench bench-peers

# One static binary; its version comes from the commit it is built from. Without what only a debugger reads it is a third smaller.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -buildvcs=auto -o shunt ./cmd/shunt

# A simulated provider, a gateway in front of it and some sessions: no account and no network needed.
demo: build
	./shunt demo

# Format, vet (also for the other systems that shunt is released for), staticcheck.
static:
	go run ./scripts/verify static

# These and all tests with the race detector.
unit:
	go run ./scripts/verify unit

# All that a change must pass: unit, every fuzz target for a few seconds, the real clients, a minute of the soak.
test:
	scripts/install
	go run ./scripts/verify test

e2e:
	scripts/install
	go run ./scripts/verify e2e

# Sessions on ten accounts that all kinds of faults hit, for SOAK. SEED draws the requests and faults of an earlier run again.
SOAK = 10m
soak:
	scripts/install
	cd e2e && go test -count=1 -v -timeout=0 -run='^TestSoak$$' . -soak=$(SOAK) $(if $(SEED),-soak.seed=$(SEED))

# shunt beside a bare reverse proxy, printed and written to bench/RESULTS.md. FOR is the length of one measurement; ROWS, a
# regular expression, takes only some and writes nothing.
FOR = 3s
bench: build
	cd bench && go run . -shunt ../shunt -for $(FOR) $(if $(ROWS),-only '$(ROWS)',-results RESULTS.md)

# Another gateway beside a bare reverse proxy: make bench-peers PEER=http://127.0.0.1:4000 PID=1234 HEADER='x-api-key: ...'
# Its upstream is MOCK, and without PEER that is all that runs. FLAGS are further ones, such as more headers.
MOCK = 127.0.0.1:8901
bench-peers:
	cd bench && go run . -upstream-listen $(MOCK) $(if $(PEER),-peer '$(PEER)' -for $(FOR)) $(if $(PID),-peer-pid $(PID)) $(if $(HEADER),-header '$(HEADER)') $(if $(ROWS),-only '$(ROWS)') $(FLAGS)
