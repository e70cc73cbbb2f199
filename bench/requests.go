package main

import (
	"context"
	"fmt"
)

// requestMeasurement measures the processor time of a request of the given size in bytes.
func requestMeasurement(name string, size int, stream bool, inFlight int, g goal) measurement {
	return measurement{name, func(ctx context.Context, b *bench, name string) error {
		if b.blind() {
			b.report.note(name + ": not measured, because the peer's process is not known (-peer-pid).")
			return nil
		}
		cost, err := b.measureRequests(ctx, name, kind{body: requestBody(size, stream), response: response{stream: stream}}, inFlight)
		if err != nil {
			return err
		}
		b.report.add(compare(name+": CPU per request", microseconds, cost, b.goal(g)))
		return nil
	}}
}

// codexMeasurement measures the processor time of a request of Codex, whose body may be compressed.
func codexMeasurement(name string, size int, zstd bool, inFlight int) measurement {
	return measurement{name, func(ctx context.Context, b *bench, name string) error {
		if b.isPeer() {
			return nil
		}
		k := kind{body: codexBody(size), response: response{stream: true}, codex: true, zstd: zstd}
		if zstd {
			k.body = compressed(k.body)
		}
		cost, err := b.measureRequests(ctx, name, k, inFlight)
		if err != nil {
			return err
		}
		b.report.add(compare(name+": CPU per request", microseconds, cost, goal{}))
		return nil
	}}
}

// measureRequests returns the seconds of processor time per request, by program and round.
func (b *bench) measureRequests(ctx context.Context, name string, k kind, inFlight int) (cost [2][]float64, err error) {
	b.up.response.Store(&k.response)
	running, stop, err := b.startBoth(ctx)
	if err != nil {
		return cost, err
	}
	defer stop()
	var loads [2]*load
	for i, p := range running {
		if loads[i], err = openLoad(ctx, p.endpoint, k, inFlight); err != nil {
			return cost, fmt.Errorf("%s: %w", b.programs[i].name, p.blame(err))
		}
		defer loads[i].close()
	}
	var dialed [2]int64
	err = alternate(b.rounds, func(round, i int) error {
		before := b.up.dialed.Load()
		used, n, err := b.sample(ctx, running[i], loads[i])
		if err != nil {
			return fmt.Errorf("%s: %w", b.programs[i].name, running[i].blame(err))
		}
		dialed[i] += b.up.dialed.Load() - before
		cost[i] = append(cost[i], used/float64(n))
		b.progress("%s, round %d, %s: %.1f µs of CPU per request, %.0f requests/s", name, round+1, b.programs[i].name, used/float64(n)*1e6, float64(n)/b.length.Seconds())
		return nil
	})
	for i, n := range dialed {
		if n > 0 {
			b.report.note(fmt.Sprintf("%s: connections that %s opened to the upstream while it was measured: %d.", name, b.programs[i].name, n))
		}
	}
	return cost, err
}

// sample runs a load for the length of one measurement. It returns the seconds of processor time that the process used, and
// the number of requests.
func (b *bench) sample(ctx context.Context, p *process, l *load) (used float64, n int, err error) {
	if _, err := l.run(ctx, warmUp); err != nil {
		return 0, 0, err
	}
	before, err := p.cpu()
	if err != nil {
		return 0, 0, err
	}
	took, err := l.run(ctx, b.length)
	if err != nil {
		return 0, 0, err
	}
	after, err := p.cpu()
	if err != nil {
		return 0, 0, err
	}
	return (after - before).Seconds(), len(took), nil
}
