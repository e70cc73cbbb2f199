package main

import (
	"context"
	"fmt"
	"time"
)

// All streams are open at the same time: they are opened during the ramp and take ten times as long. At this pace two cores are
// busy but not saturated; on a saturated machine, events accumulate, are sent together and cost less each.
const (
	streamCount  = 2_000
	streamEvents = 200
	streamBody   = 20_000 // bytes
	streamPace   = 100 * time.Millisecond
	streamRamp   = 2 * time.Second
)

// streamSample is the cost of the streams: seconds of processor time per event, and bytes of peak memory.
type streamSample struct {
	cpu, memory float64
	lost        int
	open        int64 // the most at the same time
	why         error // the error of one that was lost
}

// measureStreams starts both programs again for each round.
func measureStreams(ctx context.Context, b *bench, name string) error {
	k := kind{body: requestBody(streamBody, true), response: response{stream: true, events: streamEvents, pace: streamPace}}
	b.up.response.Store(&k.response)
	var cpu, memory [2][]float64
	var lost [2]int
	open := int64(streamCount)
	err := alternate(b.streamRounds, func(round, i int) error {
		who := b.programs[i].name
		s, err := b.sampleStreams(ctx, b.programs[i], k)
		if err != nil {
			return fmt.Errorf("%s: %w", who, err)
		}
		cpu[i] = append(cpu[i], s.cpu)
		memory[i] = append(memory[i], s.memory)
		lost[i] = max(lost[i], s.lost)
		open = min(open, s.open)
		b.progress("%s, round %d, %s: %d open at once, %d lost, %.1f µs of CPU per event, %.1f MB at the peak", name, round+1, who, s.open, s.lost, s.cpu*1e6, s.memory/1e6)
		if s.why != nil {
			b.report.note(fmt.Sprintf("%s, round %d: %s lost %d, one by: %v", name, round+1, who, s.lost, s.why))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !b.blind() {
		b.report.add(compare(name+": CPU per event", microseconds, cpu, b.goal(atMost(1))))
		b.report.add(compare(name+": peak memory", megabytes, memory, b.goal(atMost(0.95))))
	}
	b.report.add(worst(name+": lost", lost, b.goal(noneAtAll())))
	b.report.note(fmt.Sprintf("%s: at least %d were open at the same time in each round, each with a request of %d kB and an event every %v. Lost: the worst round.", name, open, streamBody/1000, streamPace))
	return nil
}

func (b *bench) sampleStreams(ctx context.Context, program program, k kind) (s streamSample, err error) {
	p, err := program.start(ctx)
	if err != nil {
		return s, err
	}
	defer p.stop()
	if b.isPeer() && p.pid != 0 {
		if err := forgetPeaks(p); err != nil {
			return s, err
		}
	}
	all := exchanges(p.endpoint, k, streamCount)
	b.up.peak.Store(0)
	before, err := p.cpu()
	if err != nil {
		return s, err
	}
	s.lost, s.why = streams(ctx, p.addr, streamRamp, 3*streamEvents*streamPace+timeout, all)
	if err := ctx.Err(); err != nil {
		return s, err
	}
	if s.lost == streamCount {
		return s, fmt.Errorf("all streams were lost, one by: %w", p.blame(s.why))
	}
	after, err := p.cpu()
	if err != nil {
		return s, err
	}
	peak, err := p.memory(peakMemory)
	if err != nil {
		return s, err
	}
	s.cpu = (after - before).Seconds() / float64((streamCount-s.lost)*streamEvents)
	s.memory, s.open = float64(peak), b.up.peak.Load()
	return s, nil
}

// forgetPeaks resets the peak memory of a process that was already running.
func forgetPeaks(p *process) error {
	pids, err := p.family()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		if err := forgetPeak(pid); err != nil {
			return fmt.Errorf("begin the peak of its memory anew: %w", err)
		}
	}
	return nil
}
