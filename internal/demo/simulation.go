package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"shunt/internal/app"
	"shunt/internal/clock"
	"shunt/internal/config"
	"shunt/internal/observe"
	"shunt/internal/sim"
)

// providerName is the provider's name in the demo's configuration.
const providerName = "anthropic"

// simulation is the provider and, in front of it, a gateway with its own home directory.
type simulation struct {
	options    Options
	clock      clock.Clock
	timeline   *timeline
	provider   *sim.Provider
	app        *app.App
	listener   net.Listener // the gateway's
	url        string       // the gateway's
	configFile string
	adminToken string

	closers []func() error // in order of opening
}

// openSimulation starts the provider and builds the gateway, which does not serve yet.
func openSimulation(o Options) (_ *simulation, err error) {
	c := clock.Accelerated(o.Speed)
	s := &simulation{options: o, clock: c, timeline: newTimeline(c, o.Sessions)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("demo: %w", errors.Join(err, s.close()))
		}
	}()
	home, err := os.MkdirTemp("", "shunt-demo-")
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() error { return os.RemoveAll(home) })
	s.provider = sim.New(sim.Config{
		Clock: c, Seed: seed, Accounts: demoAccounts(o.Sessions), TokenLifetime: time.Hour,
		Output: sim.Range{Min: 80, Max: 400},
		Pace:   sim.Pace{FirstByte: 1200 * time.Millisecond, Delta: 150 * time.Millisecond, DeltaTokens: 8},
		Record: 1,
	})
	provider, err := sim.Start(s.provider)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, provider.Close)
	log, err := os.Create(filepath.Join(home, "shunt.log"))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, log.Close)
	return s, s.build(home, provider.URL, observe.NewLogger(log, o.LogLevel, "text", false))
}

// build builds the gateway from a configuration in its home, as a user would write it.
func (s *simulation) build(home, providerURL string, log *slog.Logger) error {
	store := filepath.Join(home, "accounts")
	if err := os.Mkdir(store, 0o700); err != nil {
		return err
	}
	var toml strings.Builder
	fmt.Fprintf(&toml, configTemplate, providerName, providerURL)
	for _, name := range s.provider.Accounts() {
		fmt.Fprintf(&toml, "\n[[providers.%s.accounts]]\nname = %q\nuuid = %q\n", providerName, name, s.provider.UUID(name))
		if err := os.WriteFile(filepath.Join(store, name+".json"), s.provider.Credentials(name), 0o600); err != nil {
			return err
		}
	}
	s.configFile = filepath.Join(home, "shunt.toml")
	if err := os.WriteFile(s.configFile, []byte(toml.String()), 0o600); err != nil {
		return err
	}
	// The gateway does not see the user's environment, with its accounts and settings.
	s.adminToken = rand.Text()
	env := []string{
		"HOME=" + home, "SHUNT_CLAUDE_ACCOUNTS_DIR=" + store, "SHUNT_CLAUDE_TOKEN_URL=" + providerURL + sim.TokenPath,
		"SHUNT_ADMIN_TOKENS=demo:" + s.adminToken,
	}
	cfg, _, err := config.Load(config.Options{Path: s.configFile, Env: env, Families: app.Families()})
	if err != nil {
		return err
	}
	s.app, err = app.New(cfg, app.Options{
		Version: s.options.Version, Env: env, Clock: s.clock, OnRecord: s.record,
		Log: slog.New(warningTap{log.Handler(), func(text string) { s.timeline.note("warning: "+text, warn) }}),
	})
	if err != nil {
		return err
	}
	if s.listener, err = s.app.Listen(); err != nil {
		return err
	}
	s.url = "http://" + s.listener.Addr().String()
	return nil
}

const configTemplate = `# The configuration of this demo. The gateway applies your changes as soon as you save them.
# Try ` + "`disabled = true`" + ` or ` + "`threshold = 0.5`" + ` on an account.

[server]
bind = "127.0.0.1:0"
shutdown_timeout_seconds = 2

[server.pool]
usage_refresh_seconds = 300   # on the demo's clock

[server.admin]
session_ttl_secs = 2592000    # on the demo's clock

[providers.%s]
auth = "claude_oauth"
base_url = %q
`

// close undoes openSimulation in reverse order. The gateway must have ended.
func (s *simulation) close() error {
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	return err
}

// record adds the record of an ended request to the timeline.
func (s *simulation) record(r *observe.Record) {
	s.timeline.record(r, standings(s.app, s.clock.Now()))
}

// session runs a simulated coding session until ctx ends. Every third session uses the Fable family.
func (s *simulation) session(ctx context.Context, n int) {
	session := sim.Session{
		BaseURL: s.url, Clock: s.clock, Seed: seed, Name: strconv.Itoa(n),
		Burst: sim.Range{Min: 3, Max: 8}, Gap: 4 * time.Second, Think: sim.Pause{Min: 15 * time.Second, Max: time.Minute},
		OnTurn: s.timeline.turn,
	}
	if n%3 == 2 {
		session.FableShare = 1
	}
	session.Run(ctx)
}

// runIncidents makes the incidents happen until ctx ends.
func (s *simulation) runIncidents(ctx context.Context) {
	for start := s.timeline.began; ; start = start.Add(period) {
		for _, i := range incidents {
			if s.clock.Sleep(ctx, start.Add(i.at).Sub(s.clock.Now())) != nil {
				return
			}
			i.happen(s.provider)
			if i.text != "" {
				s.timeline.note(i.text, plain)
			}
		}
	}
}

// warningTap is a log handler that also calls show with each warning, in one line.
type warningTap struct {
	slog.Handler
	show func(text string)
}

func (h warningTap) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.Handler.Enabled(ctx, level)
}

func (h warningTap) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool {
			text += ": " + a.Value.String()
			return true
		})
		h.show(strings.Join(strings.Fields(text), " "))
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h warningTap) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningTap{h.Handler.WithAttrs(attrs), h.show}
}

func (h warningTap) WithGroup(name string) slog.Handler {
	return warningTap{h.Handler.WithGroup(name), h.show}
}
