package config

import (
	"slices"
	"strings"
	"testing"
)

// CFG-51: the keys that only a restart changes, and no others.
func TestChanged(t *testing.T) {
	before := mustLoad(t, "")
	after := mustLoad(t, `
		[server]
		bind = "127.0.0.1:1"
		default_provider = "x"
		sse_keepalive_seconds = 1
		max_concurrent_requests = 1
		transport = "net/http"
		allowed_hosts = ["a"]
		shutdown_timeout_seconds = 1
		[server.limits]
		max_request_bytes = 1
		max_request_header_bytes = 1
		max_url_length = 1
		[server.timeouts]
		upstream_ttfb_ms = 1
		upstream_ttfb_nonstream_ms = 1
		read_header_ms = 1
		read_idle_ms = 1
		[server.pool]
		hard_threshold = 0.5
		default_threshold = 0.5
		default_max_utilization = 0.5
		burn_rate_avoidance = true
		usage_refresh_seconds = 60
		state_path = "x"
		ramp_initial_concurrency = 1
		[server.access_control]
		allow_cidrs = ["10.0.0.0/8"]
		deny_cidrs = ["10.0.0.0/9"]
		trust_forwarded_for = true
		[server.auth]
		header = "x-a"
		tokens_env = "A"
		[server.admin]
		tokens_env = "B"
		[server.usage]
		[server.oauth_usage]
		[server.metrics]
		bind = "127.0.0.1:2"
		[otel]
		endpoint = "http://127.0.0.1:4318"
		[providers.x]
		base_url = "https://x.example"
		[log]
		level = "debug"
		format = "text"
		requests = "x"
	`, "A=a:1", "B=b:two-of-sixteen-ch")
	const want = "server.bind server.max_concurrent_requests server.transport server.limits.max_request_header_bytes server.limits.max_url_length server.timeouts.read_header_ms " +
		"server.pool.usage_refresh_seconds server.pool.state_path server.access_control.allow_cidrs server.access_control.deny_cidrs " +
		"server.access_control.trust_forwarded_for server.admin.tokens_env server.admin server.usage server.oauth_usage server.metrics.bind server.metrics " +
		"log.format otel.endpoint otel"
	if got := strings.Join(Changed(before, after), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := Changed(before, mustLoad(t, "[server.pool]")); len(got) > 0 {
		t.Errorf("QUO-20: an empty [server.pool] changes %v", got)
	}
	if got := Changed(after, mustLoad(t, "[server.pool]\nusage_refresh_seconds = 30")); slices.Contains(got, "server.pool.usage_refresh_seconds") {
		t.Error("QUO-20: what counts as the same interval has changed")
	}
	if got := Changed(after, after); len(got) > 0 {
		t.Errorf("the same configuration differs in %v", got)
	}
}
