package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"shunt/internal/admin"
	"shunt/internal/config"
	"shunt/internal/hosts"
)

// statusCommand shows the pools of a running gateway (CLI-2).
type statusCommand struct {
	remoteFlags
	Watch  bool `short:"w" help:"Refresh every two seconds."`
	JSON   bool `help:"Print JSON."`
	Health bool `help:"Only report, by the exit code, whether shunt responds; needs no credential."`
}

const watchEvery = 2 * time.Second

func (k *statusCommand) Run(c *commands, s *System) error {
	if k.Health {
		return k.health(c, s)
	}
	gateway, err := k.dial(c, s)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	for {
		pools, err := gateway.pools(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if k.Watch && !k.JSON && isTerminal(s.Stdout) {
			fmt.Fprint(s.Stdout, "\x1b[H\x1b[2J")
		}
		if err == nil {
			err = k.print(s.Stdout, pools, time.Now())
		}
		if err != nil || !k.Watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

func (k *statusCommand) print(w io.Writer, pools admin.Pools, now time.Time) error {
	if k.JSON {
		return json.NewEncoder(w).Encode(pools)
	}
	return writeStatus(w, pools, now)
}

// writeStatus writes the pools as a table.
func writeStatus(w io.Writer, pools admin.Pools, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROVIDER\tACCOUNT\tSTATE\t5H\t7D\tFABLE\tHEADROOM\tREQUESTS")
	for _, p := range pools.Providers {
		if len(p.Accounts) == 0 {
			state := "no account"
			if p.Auth == config.Passthrough || p.Auth == config.APIKey {
				state = strings.ReplaceAll(string(p.Auth), "_", " ")
			}
			fmt.Fprintf(table, "%s\t-\t%s\t\t\t\t\t\n", p.Provider, state)
		}
		for i := range p.Accounts {
			a := &p.Accounts[i]
			summary := a.Summary(now.Unix())
			state := summary.State
			if summary.Until != nil {
				state += " " + left(*summary.Until, now)
			}
			if summary.Detail != "" {
				state += " (" + summary.Detail + ")"
			}
			headroom := "-"
			if a.Headroom != nil {
				headroom = time.Duration(*a.Headroom * float64(time.Second)).Round(time.Minute).String()
				headroom = strings.TrimSuffix(headroom, "0s")
			}
			name := a.Name
			if len(a.Aliases) > 0 {
				name += " (also " + strings.Join(a.Aliases, ", ") + ")"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", p.Provider, name, state,
				window(a.Utilization5h, a.Cap5h, a.Reset5h, now), window(a.Utilization7d, a.Cap7d, a.Reset7d, now),
				window(a.UtilizationFable, a.CapFable, a.ResetFable, now), headroom, a.Requests)
		}
	}
	return table.Flush()
}

// window returns the cell of a quota window: how much is used, the cap if there is one, and the time until it resets.
func window(used, limit *float64, reset *int64, now time.Time) string {
	if used == nil {
		return "-"
	}
	text := fmt.Sprintf("%.0f%%", 100**used)
	if limit != nil {
		text += fmt.Sprintf(" of %.0f%%", 100**limit)
	}
	if reset != nil && *reset > now.Unix() {
		text += " " + left(*reset, now)
	}
	return text
}

// left returns the time until a Unix time in seconds, in its largest unit.
func left(until int64, now time.Time) string {
	switch s := until - now.Unix(); {
	case s >= 2*86400:
		return fmt.Sprintf("%dd", s/86400)
	case s >= 2*3600:
		return fmt.Sprintf("%dh", s/3600)
	case s >= 120:
		return fmt.Sprintf("%dm", s/60)
	default:
		return fmt.Sprintf("%ds", max(s, 0))
	}
}

func (k *statusCommand) health(c *commands, s *System) error {
	cfg, _, err := load(c, s)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{Proxy: hosts.Proxy}, Timeout: remoteTimeout}
	defer client.CloseIdleConnections()
	response, err := client.Get(k.gatewayURL(cfg) + "/health")
	if err != nil {
		return fmt.Errorf("shunt does not respond: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New("shunt responds " + response.Status)
	}
	return nil
}
