module shunt

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0 // command line
	github.com/andybalholm/brotli v1.3.0 // looking into a 403 that comes as br; the simulated provider
	github.com/gofrs/flock v0.13.2 // locks that other processes respect
	github.com/google/go-cmp v0.7.0 // tests
	github.com/google/renameio/v2 v2.0.2 // files that a kill cannot tear
	github.com/hashicorp/golang-lru/v2 v2.0.7 // a bounded memory of sessions
	github.com/klauspost/compress v1.20.4 // the same for zstd, and a faster gzip
	github.com/pelletier/go-toml/v2 v2.4.3 // TOML with the line of every key
	github.com/prometheus/client_golang v1.25.0 // metrics
	github.com/rogpeppe/go-internal v1.16.0 // tests: testscript
	github.com/tiktoken-go/tokenizer v0.7.0 // counting tokens
	go.opentelemetry.io/otel v1.47.0 // traces, as are the next three
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.47.0
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
	go.opentelemetry.io/proto/otlp v1.11.0 // tests of the traces
	go.uber.org/goleak v1.3.0 // tests
	golang.org/x/sys v0.50.0 // tests: a pseudo terminal
	golang.org/x/term v0.48.0 // is this a terminal, and prompts that do not show
	google.golang.org/protobuf v1.36.12 // tests of the traces
	pgregory.net/rapid v1.3.0 // tests: laws
)

require (
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/aclements/go-moremath v0.0.0-20210112150236-f10218a38794 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.30.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/net v0.59.0
	golang.org/x/perf v0.0.0-20260908200009-22c9c6c9d4da // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/grpc v1.83.2 // indirect
	honnef.co/go/tools v0.8.2 // indirect
	mvdan.cc/gofumpt v0.12.0 // indirect
)

require github.com/dlclark/regexp2 v1.11.5 // indirect

tool (
	golang.org/x/perf/cmd/benchstat
	honnef.co/go/tools/cmd/staticcheck
	mvdan.cc/gofumpt
)
