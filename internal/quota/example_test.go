package quota_test

import (
	"fmt"
	"time"

	"shunt/internal/quota"
)

// A family has a window of five hours and one of a week, and large models have a week of their own.
func Example() {
	const week = 7 * 24 * time.Hour
	table := quota.NewTable(
		quota.Window{Name: "5h", Length: 5 * time.Hour},
		quota.Window{Name: "7d", Length: week},
		quota.Window{Name: "large", Length: week, Scope: "large"},
	)
	now := time.Now()
	state := quota.NewState(table)
	var signal quota.Signal
	signal.Windows[0] = quota.WindowSignal{Utilization: 0.25, HasUtilization: true, Reset: now.Add(150 * time.Minute)}
	signal.Windows[2] = quota.WindowSignal{Utilization: 0.99, HasUtilization: true, Reset: now.Add(24 * time.Hour)}
	state.Record(signal, now, now)

	soft := quota.Soft(quota.DefaultHard)
	fmt.Println("small models: near", state.Near("", soft), "headroom", time.Duration(state.Headroom("", soft, now))*time.Second)
	fmt.Println("large models: near", state.Near("large", soft))
	state.Expire(now.Add(24 * time.Hour))
	fmt.Println("large models a day later: near", state.Near("large", soft))
	// Output:
	// small models: near false headroom 4h48m0s
	// large models: near true
	// large models a day later: near false
}
