package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

type size struct {
	name  string
	bytes int
}

// sizes are those of a bare question, of Claude Code's first turn, and of a long session.
var sizes = []size{{"2 kB", 2_000}, {"115 kB", 115_000}, {"700 kB", 700_000}}

// streamCounts are the numbers of streams that are open at once. Each carries a body of streamBody bytes and then an
// event every streamPace.
var streamCounts = []int{500, 2000}

const (
	streamBody   = 115_000
	streamPace   = 250 * time.Millisecond
	streamRamp   = 2 * time.Second
	streamLength = 6 * time.Second // behind the ramp, so that all are open together
	streamRounds = 2
	warmUp       = 300 * time.Millisecond
)

func measure(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "shunt-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	up, err := startUpstream()
	if err != nil {
		return err
	}
	defer up.server.Close()
	targets := []target{bareTarget(up.url)}
	if o.shunt != "" {
		targets = append(targets, shuntTarget(o, up.url, dir))
	}
	fmt.Printf("%d connections, %d rounds of %v a target; each answer a short event stream\n\n", o.workers, o.rounds, o.length)
	if err := measureRequests(ctx, o, targets); err != nil {
		return err
	}
	fmt.Printf("\nstreams with a body of %d kB and an event every %v; the most over %d rounds, each in a new process\n\n", streamBody/1000, streamPace, streamRounds)
	if err := measureStreams(ctx, up, targets); err != nil || o.shunt == "" {
		return err
	}
	fmt.Printf("\n%d open pages and a scrape of the metrics each second against none, at %s\n\n", openPages, sizes[0].name)
	return measureWatched(ctx, o, targets[1])
}

// measureRequests compares the cost of a request for each size of body.
func measureRequests(ctx context.Context, o options, targets []target) error {
	processes := make([]*process, len(targets))
	for i, t := range targets {
		p, err := t.start(ctx)
		if err != nil {
			return err
		}
		defer p.stop()
		processes[i] = p
	}
	fmt.Printf("%-8s %-6s %10s %14s %10s %10s\n", "body", "", "requests/s", "CPU/request", "p50", "p99")
	for _, size := range sizes {
		e := newExchange(requestBody(size.bytes), "", answerSize(8))
		rounds := make([][]sample, len(targets))
		for round := range o.rounds {
			for turn := range targets {
				i := (round + turn) % len(targets)
				s, err := sampleRequests(ctx, processes[i], o, e)
				if err != nil {
					return fmt.Errorf("%s through %s: %w", size.name, targets[i].name, processes[i].blame(err))
				}
				rounds[i] = append(rounds[i], s)
			}
		}
		for i, t := range targets {
			m := medians(rounds[i])
			fmt.Printf("%-8s %-6s %10.0f %11.1f us %7.2f ms %7.2f ms\n", size.name, t.name, m[0], m[1]*1e6, m[2]*1e3, m[3]*1e3)
		}
		if len(targets) == 2 {
			r := medians(ratios(rounds[1], rounds[0]))
			fmt.Printf("%-8s %-6s %9.2fx %13.2fx %9.2fx %9.2fx\n", "", "ratio", r[0], r[1], r[2], r[3])
		}
	}
	return nil
}

// sample is one measurement: requests a second, then seconds of processor time a request, median and 99th percentile of
// the seconds that one took.
type sample [4]float64

func sampleRequests(ctx context.Context, p *process, o options, e exchange) (sample, error) {
	if _, err := requests(ctx, p.addr, o.workers, warmUp, e); err != nil {
		return sample{}, err
	}
	before, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	took, err := requests(ctx, p.addr, o.workers, o.length, e)
	if err != nil {
		return sample{}, err
	}
	elapsed := time.Since(start)
	after, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	n := float64(len(took))
	return sample{n / elapsed.Seconds(), (after - before).Seconds() / n, percentile(took, 50), percentile(took, 99)}, nil
}

func measureStreams(ctx context.Context, up *upstream, targets []target) error {
	fmt.Printf("%-8s %-6s %8s %6s %10s %12s %12s %10s\n", "streams", "", "at once", "lost", "peak RSS", "RSS/stream", "first p99", "CPU")
	for _, n := range streamCounts {
		rows := make([]streamSample, len(targets))
		for round := range streamRounds {
			for turn := range targets {
				i := (round + turn) % len(targets)
				s, err := sampleStreams(ctx, up, targets[i], n)
				if err != nil {
					return fmt.Errorf("%d streams through %s: %w", n, targets[i].name, err)
				}
				rows[i] = rows[i].worse(s)
			}
		}
		for i, t := range targets {
			s := rows[i]
			fmt.Printf("%-8d %-6s %8d %6d %7.1f MB %9.1f kB %9.1f ms %8.2f s\n", n, t.name, s.peak, s.lost, s.memory/1e6, s.memory/1e3/float64(n), s.firstByte*1e3, s.cpu)
			if s.why != nil {
				fmt.Printf("%-8s %-6s one was lost by: %v\n", "", "", s.why)
			}
		}
		if len(targets) == 2 {
			fmt.Printf("%-8s %-6s %15s %9.2fx %11.2fx %11.2fx %9.2fx\n", "", "ratio", "", rows[1].memory/rows[0].memory, rows[1].memory/rows[0].memory,
				rows[1].firstByte/rows[0].firstByte, rows[1].cpu/rows[0].cpu)
		}
	}
	return nil
}

// streamSample is what a number of streams cost: bytes of memory, seconds to the first byte and of processor time.
type streamSample struct {
	peak, lost             int64
	memory, firstByte, cpu float64
	why                    error
}

func (s streamSample) worse(o streamSample) streamSample {
	s.peak, s.lost = max(s.peak, o.peak), max(s.lost, o.lost)
	s.memory, s.firstByte, s.cpu = max(s.memory, o.memory), max(s.firstByte, o.firstByte), max(s.cpu, o.cpu)
	if o.why != nil {
		s.why = o.why
	}
	return s
}

func sampleStreams(ctx context.Context, up *upstream, t target, n int) (streamSample, error) {
	p, err := t.start(ctx)
	if err != nil {
		return streamSample{}, err
	}
	defer p.stop()
	up.peak.Store(0)
	events := int((streamRamp + streamLength) / streamPace)
	extra := fmt.Sprintf("%s: %d\r\n%s: %v\r\n", eventsHeader, events, paceHeader, streamPace)
	firstBytes, lost, why := streams(ctx, p.addr, n, streamRamp, newExchange(requestBody(streamBody), extra, answerSize(events)))
	if err := ctx.Err(); err != nil {
		return streamSample{}, err
	}
	memory, err := p.peakMemory()
	if err != nil {
		return streamSample{}, p.blame(err)
	}
	cpu, err := p.cpu()
	if err != nil {
		return streamSample{}, err
	}
	return streamSample{up.peak.Load(), int64(lost), float64(memory), percentile(firstBytes, 99), cpu.Seconds(), why}, nil
}

// percentile is in seconds; of nothing it is 0.
func percentile(d []time.Duration, p int) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[(len(d)-1)*p/100].Seconds()
}

func medians(rounds []sample) (m sample) {
	for k := range m {
		values := make([]float64, len(rounds))
		for i, r := range rounds {
			values[i] = r[k]
		}
		slices.Sort(values)
		m[k] = values[len(values)/2]
	}
	return m
}

// ratios relates each round of a to the one of b that was measured beside it.
func ratios(a, b []sample) []sample {
	r := make([]sample, len(a))
	for i := range a {
		for k := range r[i] {
			r[i][k] = a[i][k] / b[i][k]
		}
	}
	return r
}
