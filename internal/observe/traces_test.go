package observe

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// OBS-1, OBS-3: the spans of a stream with an error event are failures, although its status is 200.
func TestSpansOfAStreamError(t *testing.T) {
	for result, want := range map[string]codes.Code{"success": codes.Unset, ResultStreamError: codes.Error} {
		exporter := tracetest.NewInMemoryExporter()
		provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
		traces := &Traces{provider, provider.Tracer("shunt")}
		r := &Record{Time: time.Unix(1_800_000_000, 0), Status: 200, Calls: []Call{{Began: time.Unix(1_800_000_000, 0), Status: 200, Result: result}}}
		if want == codes.Error {
			r.End, r.StreamError = Failed, "overloaded_error"
		}
		traces.Add(r)
		spans := exporter.GetSpans()
		if len(spans) != 2 {
			t.Fatalf("%d spans", len(spans))
		}
		for _, s := range spans {
			if s.Status.Code != want {
				t.Errorf("%s: the %s span has status %v", result, s.Name, s.Status.Code)
			}
		}
		if err := traces.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
