package main

import (
	"context"
	"fmt"
)

// firstByteMeasurement measures the median time to the first byte of the response for requests of the given size in bytes, one
// after the other on one connection, through both programs and to the upstream directly. What a program adds is the
// difference from the latter.
func firstByteMeasurement(name string, size int) measurement {
	return measurement{name, func(ctx context.Context, b *bench, name string) error {
		k := kind{body: requestBody(size, true), response: response{stream: true}}
		b.up.response.Store(&k.response)
		through, direct, err := b.measureFirstByte(ctx, name, k)
		if err != nil {
			return err
		}
		var added [2][]float64
		for i := range added {
			for round, t := range through[i] {
				added[i] = append(added[i], t-direct[round])
			}
		}
		b.report.add(compare(name+": added time to first byte, p50", milliseconds, added, b.goal(atMost(1.05))))
		b.report.add(compare(name+": time to first byte, p50", milliseconds, through, goal{}))
		b.report.note(fmt.Sprintf("%s: %s directly to the upstream.", name, milliseconds(median(direct))))
		return nil
	}}
}

// measureFirstByte returns medians in seconds, by program and round.
func (b *bench) measureFirstByte(ctx context.Context, name string, k kind) (through [2][]float64, direct []float64, err error) {
	running, stop, err := b.startBoth(ctx)
	if err != nil {
		return through, nil, err
	}
	defer stop()
	straight := endpoint{addr: b.up.addr, headers: b.headers, exact: true}
	var loads [3]*load
	for i, to := range [...]endpoint{running[0].endpoint, running[1].endpoint, straight} {
		if loads[i], err = openLoad(ctx, to, k, 1); err != nil {
			return through, nil, fmt.Errorf("%s: %w", to.addr, err)
		}
		defer loads[i].close()
	}
	once := func(l *load) (float64, error) {
		if _, err := l.run(ctx, warmUp); err != nil {
			return 0, err
		}
		took, err := l.run(ctx, b.length)
		return p50(took), err
	}
	err = alternate(b.rounds, func(round, i int) error {
		if len(direct) == round {
			t, err := once(loads[2])
			if err != nil {
				return fmt.Errorf("upstream: %w", err)
			}
			direct = append(direct, t)
			b.progress("%s, round %d, direct: %s to the first byte", name, round+1, milliseconds(t))
		}
		t, err := once(loads[i])
		if err != nil {
			return fmt.Errorf("%s: %w", b.programs[i].name, running[i].blame(err))
		}
		through[i] = append(through[i], t)
		b.progress("%s, round %d, %s: %s to the first byte", name, round+1, b.programs[i].name, milliseconds(t))
		return nil
	})
	return through, direct, err
}
