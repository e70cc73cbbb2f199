# The work of the project, one target each. Everything needs Go; `test` and `e2e` also need Node.js with npm.

.PHONY: build demo unit test e2e bench bench-peers

# One static binary; its version comes from the commit it is built from. Without what only a debugger reads it is a third smaller.
build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -buildvcs=auto -o shunt ./cmd/shunt

# A simulated provider, a gateway in front of it and some sessions: no account and no network needed.
demo: build
	./shunt demo

# Format, vet, staticcheck, all tests with the race detector.
unit:
	go run ./scripts/verify unit

# All that a change must pass: unit, every fuzz target for a few seconds, then the real clients.
test:
	scripts/install
	go run ./scripts/verify test

e2e:
	scripts/install
	go run ./scripts/verify e2e

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
