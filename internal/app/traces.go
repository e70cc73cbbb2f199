package app

import (
	"context"
	"time"

	"shunt/internal/observe"
)

// openTraces starts the export of traces, if there is an [otel] table.
func (a *App) openTraces(ctx context.Context) (err error) {
	cfg := a.config.Load()
	if !cfg.OTel.Present {
		return nil
	}
	a.traces, err = observe.OpenTraces(ctx, observe.TraceOptions{
		Endpoint: cfg.OTel.Endpoint, Service: cfg.OTel.ServiceName, Version: a.options.Version, Ratio: cfg.OTel.SampleRatio, Health: a.health,
	})
	return err
}

// closeTraces exports the last traces. It only logs an error: a collector that is down must not fail the shutdown.
func (a *App) closeTraces() {
	if a.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTracesTimeout)
	defer cancel()
	if err := a.traces.Close(ctx); err != nil {
		a.options.Log.Warn("the last traces are lost", "error", err)
	}
}

const lastTracesTimeout = 5 * time.Second
