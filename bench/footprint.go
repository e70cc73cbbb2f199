package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// settle is how long a program is idle before its memory is read.
const settle = 2 * time.Second

// measureIdle reads the memory of each program when it is idle after its start. A peer may have served requests before.
func measureIdle(ctx context.Context, b *bench, name string) error {
	if b.blind() {
		return nil
	}
	running, stop, err := b.startBoth(ctx)
	if err != nil {
		return err
	}
	defer stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(settle):
	}
	var resident [2][]float64
	for i, p := range running {
		n, err := p.memory(residentMemory)
		if err != nil {
			return fmt.Errorf("%s: %w", b.programs[i].name, err)
		}
		resident[i] = []float64{float64(n)}
	}
	if !b.isPeer() {
		name = fmt.Sprintf("%s with %d accounts", name, 2*poolSize)
	}
	b.report.add(compare(name, megabytes, resident, b.goal(below(30e6, megabytes))))
	return nil
}

func measureBinary(_ context.Context, b *bench, name string) error {
	if b.isPeer() {
		return nil
	}
	info, err := os.Stat(b.shunt)
	if err != nil {
		return err
	}
	b.report.add(alone(name, megabytes, float64(info.Size()), b.goal(below(40e6, megabytes))))
	return nil
}
