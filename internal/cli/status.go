package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"shunt/internal/admin"
	"shunt/internal/config"
	"shunt/internal/family"
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
			err = k.print(s.Stdout, pools, c.families[0], time.Now())
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

func (k *statusCommand) print(w io.Writer, pools admin.Pools, first *family.Family, now time.Time) error {
	if k.JSON {
		return json.NewEncoder(w).Encode(pools)
	}
	return writeStatus(w, pools, windowColumns(pools, first), now)
}

// windowColumns returns the names of the windows that the accounts have, in order. Without accounts, they are those of the first
// family.
func windowColumns(pools admin.Pools, first *family.Family) []string {
	var names []string
	someAccount := false
	for _, p := range pools.Providers {
		for i := range p.Accounts {
			someAccount = true
			for _, w := range p.Accounts[i].AllWindows() {
				if !slices.Contains(names, w.Window) {
					names = append(names, w.Window)
				}
			}
		}
	}
	if !someAccount {
		for _, w := range first.Windows.Windows() {
			names = append(names, w.Name)
		}
	}
	return names
}

// writeStatus writes the pools as a table, with a column for each of the windows.
func writeStatus(w io.Writer, pools admin.Pools, windows []string, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(provider, account, state string, cells []string, headroom, requests string) {
		line := slices.Concat([]string{provider, account, state}, cells, []string{headroom, requests})
		fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	row("PROVIDER", "ACCOUNT", "STATE", upper(windows), "HEADROOM", "REQUESTS")
	for _, p := range pools.Providers {
		if len(p.Accounts) == 0 {
			state := "no account"
			if p.Auth == config.Passthrough || p.Auth == config.APIKey {
				state = strings.ReplaceAll(string(p.Auth), "_", " ")
			}
			row(p.Provider, "-", state, make([]string, len(windows)), "", "")
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
			row(p.Provider, name, state, windowCells(a, windows, now), headroom, fmt.Sprint(a.Requests))
		}
	}
	return table.Flush()
}

func upper(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.ToUpper(name)
	}
	return all
}

// windowCells returns the cells of an account in the columns of the windows. They are empty for windows that it does not have.
func windowCells(a *admin.AccountState, windows []string, now time.Time) []string {
	cells := make([]string, len(windows))
	for _, w := range a.AllWindows() {
		cells[slices.Index(windows, w.Window)] = windowCell(&w, now)
	}
	return cells
}

// windowCell returns how much of a window is used, the cap if there is one, and the time until it resets.
func windowCell(w *admin.WindowState, now time.Time) string {
	if w.Utilization == nil {
		return "-"
	}
	text := fmt.Sprintf("%.0f%%", 100**w.Utilization)
	if w.Cap != nil {
		text += fmt.Sprintf(" of %.0f%%", 100**w.Cap)
	}
	if w.Reset != nil && *w.Reset > now.Unix() {
		text += " " + left(*w.Reset, now)
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
