package pool_test

import (
	"fmt"
	"time"

	"shunt/internal/identity"
	"shunt/internal/pool"
	"shunt/internal/quota"
)

// Of two accounts, one is near its quota and the other cools down. A third has not been seen yet.
func ExampleOrder() {
	now := time.Now()
	table := quota.NewTable(quota.Window{Name: "5h", Length: 5 * time.Hour})
	soft := quota.Soft(0.9)
	health := map[string]pool.Health{}
	for _, name := range []string{"near", "cooled", "unseen"} {
		health[name] = pool.NewHealth(table)
	}
	var busy quota.Signal
	busy.Windows[0] = quota.WindowSignal{Utilization: 0.95, HasUtilization: true, Reset: now.Add(time.Hour)}
	health["near"] = pool.Observe(health["near"], pool.Outcome{Sent: now, Event: pool.Success, Signal: busy}, soft, now)
	health["cooled"] = pool.Observe(health["cooled"], pool.Outcome{Sent: now, Event: pool.Overloaded, Cooldown: 5 * time.Second}, soft, now)

	var members []pool.Member
	for name, h := range health {
		key := identity.OfAccount("family", name, "")
		members = append(members, pool.NewMember(pool.Account{Name: name, Key: key, Soft: soft}, &h))
	}
	for _, r := range pool.Order(members, pool.Query{Criteria: pool.Criteria{Session: pool.SessionOf("a session")}}, now) {
		fmt.Println(r.Member.Name, r.Group)
	}
	// Output:
	// unseen free
	// near near_quota
	// cooled cooled
}
