package observe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces exports a span for each request, with a child for each request to an upstream (OBS-3). Spans are made from the [Record]
// of a request that has ended, so the code that serves requests is not aware of traces. They wait for the collector in a
// bounded queue; spans that do not fit are lost.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// TraceOptions configure the export of traces.
type TraceOptions struct {
	Endpoint *url.URL // of the collector; v1/traces is appended
	Service  string   // the service name of the spans
	Version  string
	Ratio    float64 // the fraction of requests to trace, from 0 to 1
	Health   *Health
}

// OpenTraces starts an export; [Traces.Close] stops it. The exporter also reads its own environment variables, such as
// OTEL_EXPORTER_OTLP_HEADERS. An unreachable collector is not an error but a condition.
func OpenTraces(ctx context.Context, o TraceOptions) (*Traces, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint.JoinPath("v1", "traces").String()))
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(reportingExporter{exporter, o.Health}),
		sdk.WithSampler(sdk.TraceIDRatioBased(o.Ratio)),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", o.Service), attribute.String("service.version", o.Version),
		)),
	)
	return &Traces{provider, provider.Tracer("shunt")}, nil
}

// Add queues the spans of a request that has ended.
func (t *Traces) Add(r *Record) {
	end := r.Time.Add(time.Duration(r.Duration))
	ctx, span := t.tracer.Start(context.Background(), "request",
		trace.WithTimestamp(r.Time), trace.WithSpanKind(trace.SpanKindServer), trace.WithNewRoot())
	defer span.End(trace.WithTimestamp(end))
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(nonEmpty(
		attribute.String("shunt.request_id", r.RequestID),
		attribute.String("url.path", r.Path),
		attribute.String("shunt.provider", r.Provider),
		attribute.String("shunt.account", r.Account),
		attribute.String("shunt.why", r.Why),
		attribute.String("gen_ai.request.model", r.Model),
		attribute.Int("http.response.status_code", r.Status),
		attribute.String("shunt.end", string(r.End)),
		attribute.String("shunt.stream_error", r.StreamError),
		attribute.String("shunt.cut_cause", r.TruncationCause),
	)...)
	if r.Move != nil {
		span.SetAttributes(attribute.String("shunt.move", r.Move.Reason))
	}
	if r.Status >= http.StatusInternalServerError || r.End == Truncated || r.End == Failed {
		span.SetStatus(codes.Error, "")
	}
	for i := range r.Calls {
		t.addCall(ctx, &r.Calls[i], end)
	}
}

func (t *Traces) addCall(ctx context.Context, c *Call, end time.Time) {
	if c.Took > 0 {
		end = c.Began.Add(c.Took)
	}
	_, span := t.tracer.Start(ctx, "attempt", trace.WithTimestamp(c.Began), trace.WithSpanKind(trace.SpanKindClient))
	span.SetAttributes(nonEmpty(
		attribute.String("shunt.provider", c.Provider),
		attribute.String("shunt.account", c.Account),
		attribute.String("gen_ai.request.model", c.Model),
		attribute.Int("http.response.status_code", c.Status),
		attribute.String("shunt.reason", c.Result),
	)...)
	if c.Status == 0 || c.Status >= http.StatusBadRequest || c.Result == ResultStreamError {
		span.SetStatus(codes.Error, "")
	}
	if c.Status != 0 {
		span.AddEvent("head", trace.WithTimestamp(c.Began.Add(c.Head)))
	}
	span.End(trace.WithTimestamp(end))
}

// nonEmpty removes unknown attributes.
func nonEmpty(all ...attribute.KeyValue) []attribute.KeyValue {
	known := all[:0]
	for _, a := range all {
		if v := a.Value.AsInterface(); v != "" && v != int64(0) {
			known = append(known, a)
		}
	}
	return known
}

// Close exports the queued spans until ctx ends.
func (t *Traces) Close(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("export the last traces: %w", err)
	}
	return nil
}

const tracesCondition = "traces cannot be exported"

// reportingExporter reports failures to health. Without it the SDK prints them to standard error.
type reportingExporter struct {
	sdk.SpanExporter
	health *Health
}

func (e reportingExporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.health.Set(tracesCondition, err.Error())
		return nil
	}
	e.health.Clear(tracesCondition)
	return nil
}
