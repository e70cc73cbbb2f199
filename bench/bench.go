package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// warmUp is how long each load runs before the measurement.
const warmUp = 300 * time.Millisecond

// bench is one run of the program.
type bench struct {
	options
	up       *upstream
	programs [2]program // bare, and the measured one
	report   report
}

// measurement is one measurement, selected by -only. Its run adds rows to the report.
type measurement struct {
	name string
	run  func(context.Context, *bench, string) error
}

// The memory of a peer is read before the first load.
var measurements = []measurement{
	{"idle memory", measureIdle},
	{"size of the binary", measureBinary},
	requestMeasurement("2 kB JSON, 16 in flight", 2_000, false, 16, atMost(1)),
	requestMeasurement("2 kB JSON, 64 in flight", 2_000, false, 64, atMost(1)),
	requestMeasurement("2 kB stream, 16 in flight", 2_000, true, 16, atMost(1)),
	requestMeasurement("115 kB request, 8 in flight", 115_000, true, 8, atMost(1.05)),
	requestMeasurement("700 kB request, 8 in flight", 700_000, true, 8, atMost(1.4)),
	codexMeasurement("40 kB request of Codex, 8 in flight", 40_000, false, 8),
	codexMeasurement("40 kB request of Codex, zstd, 8 in flight", 40_000, true, 8),
	codexMeasurement("400 kB request of Codex, zstd, 8 in flight", 400_000, true, 8),
	translationMeasurement("2 kB request translated to Responses, 16 in flight", 2_000, 16),
	translationMeasurement("115 kB request translated to Responses, 8 in flight", 115_000, 8),
	{"2 000 streams of 200 events", measureStreams},
	firstByteMeasurement("2 kB request, one in flight", 2_000),
	firstByteMeasurement("115 kB request, one in flight", 115_000),
	{"watched", measureWatched},
}

// selected returns the measurements to take.
func (b *bench) selected() ([]measurement, error) {
	if b.only == nil {
		return measurements, nil
	}
	var chosen []measurement
	var names []string
	for _, m := range measurements {
		if b.only.MatchString(m.name) {
			chosen = append(chosen, m)
		}
		names = append(names, m.name)
	}
	if chosen == nil {
		return nil, fmt.Errorf("-only %s matches none of: %s", b.only, strings.Join(names, "; "))
	}
	return chosen, nil
}

func (b *bench) run(ctx context.Context) error {
	chosen, err := b.selected()
	if err != nil {
		return err
	}
	if b.report.head, err = head(ctx, b.options); err != nil {
		return err
	}
	if b.up, err = startUpstream(b.upstreamListen); err != nil {
		return err
	}
	defer b.up.server.Close()
	b.programs[0] = bareProgram(b.up.url, b.headers)
	b.programs[1] = shuntProgram(b.options, b.up.url)
	if b.isPeer() {
		if b.programs[1], err = peerProgram(b.options); err != nil {
			return err
		}
		b.report.note("The peer's processor time and memory include those of all descendants of its process.")
		b.report.note("The peer's upstream was " + b.up.url + ".")
	} else if err := b.checkShunt(ctx); err != nil {
		return err
	}
	for _, m := range chosen {
		if err := m.run(ctx, b, m.name); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	b.report.name = b.programs[1].name
	return b.publish()
}

// publish prints the report, and writes it to the results file.
func (b *bench) publish() error {
	text := b.report.markdown()
	fmt.Print(text)
	if b.results == "" {
		return nil
	}
	return writeFile(b.results, text)
}

func (b *bench) isPeer() bool { return b.peer != "" }

// blind reports whether the measured process is unknown.
func (b *bench) blind() bool { return b.isPeer() && b.peerPID == 0 }

// progress prints what was just measured.
func (b *bench) progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// startBoth starts both programs.
func (b *bench) startBoth(ctx context.Context) (running [2]*process, stop func(), err error) {
	stop = func() {
		for _, p := range running {
			if p != nil {
				p.stop()
			}
		}
	}
	for i, p := range b.programs {
		if running[i], err = p.start(ctx); err != nil {
			stop()
			return running, nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return running, stop, nil
}

// alternate runs both programs in each round, in alternating order, so that neither always follows
// the other.
func alternate(rounds int, turn func(round, program int) error) error {
	for round := range rounds {
		for i := range 2 {
			if err := turn(round, (round+i)%2); err != nil {
				return err
			}
		}
	}
	return nil
}
