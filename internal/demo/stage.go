package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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

// seed gives the first nine sessions their homes on the three accounts in turn, so that the first of them is at home on
// the account that fills up first, and the second, which uses Fable, on the one whose Fable week is nearly used up.
const seed = 3756

// accident is something that happens to an account from outside. Each comes again in every period, which is as long as the
// five-hour window, so that every period meets the windows as the first one did.
type accident struct {
	at     time.Duration // in the period, of the accounts' time
	what   string        // told when it happens, if the gateway does not see it happen
	happen func(*sim.Provider)
}

const (
	period      = 5 * time.Hour
	usedUpAt    = 22 * time.Minute
	birchResets = usedUpAt + 6*time.Minute
	amberResets = 40 * time.Minute
)

// accidents are in the order of their times. After the first, they fall into the time when amber has room again, so that
// cedar is never the only account that can serve and out of service.
var accidents = []accident{
	{usedUpAt, "another program used up the 5h window of birch; the gateway cannot know yet", func(p *sim.Provider) {
		p.Fill("birch", fiveHour, 1)
	}},
	{50 * time.Minute, "", func(p *sim.Provider) { p.Inject("cedar", sim.Overloaded().Times(1)) }},
	{70 * time.Minute, "", func(p *sim.Provider) { p.Inject("amber", sim.Throttled("20").Times(1)) }},
	{90 * time.Minute, "the provider ended the access token of cedar before its time", func(p *sim.Provider) {
		p.ExpireTokens("cedar")
	}},
	{110 * time.Minute, "", func(p *sim.Provider) { p.Inject("cedar", sim.ServerError(http.StatusBadGateway).Times(1)) }},
}

// stageAccounts are the accounts, with windows in proportion to the number of sessions. Amber fills up before its window
// is over; cedar could serve all sessions alone, so that no request fails.
func stageAccounts(sessions int) []sim.Account {
	const million = 1_000_000
	window := func(millions, fill float64, resetIn time.Duration) sim.Window {
		return sim.Window{Size: int64(millions * million * float64(max(sessions, 1))), Fill: fill, ResetIn: resetIn}
	}
	const day = 24 * time.Hour
	return []sim.Account{
		{
			Name:     "amber",
			FiveHour: window(1, 0.93, amberResets), SevenDay: window(400, 0.61, 2*day+3*time.Hour), Fable: window(400, 0.34, 2*day+3*time.Hour),
		},
		{
			Name:     "birch",
			FiveHour: window(2, 0.24, birchResets), SevenDay: window(400, 0.35, 4*day), Fable: window(1.3, 0.95, 4*day),
		},
		{
			Name:     "cedar",
			FiveHour: window(12, 0.57, 200*time.Minute), SevenDay: window(400, 0.12, 6*day), Fable: window(400, 0.08, 6*day),
		},
	}
}

// stage is all that the demo consists of: the provider, and in front of it a gateway with a home of its own.
type stage struct {
	options    Options
	clock      clock.Clock
	story      *story
	provider   *sim.Provider
	app        *app.App
	listener   net.Listener // of the gateway
	url        string       // of the gateway
	configFile string
	adminToken string

	closers []func() error // in the order of opening
}

// openStage builds the stage; only the provider serves yet.
func openStage(o Options) (_ *stage, err error) {
	c := clock.Accelerated(o.Speed)
	s := &stage{options: o, clock: c, story: newStory(c, o.Sessions)}
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
		Clock: c, Seed: seed, Accounts: stageAccounts(o.Sessions), TokenLifetime: time.Hour,
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

// build makes the gateway from a configuration in the home, as a user would write it.
func (s *stage) build(home, providerURL string, log *slog.Logger) error {
	store := filepath.Join(home, "accounts")
	if err := os.Mkdir(store, 0o700); err != nil {
		return err
	}
	var toml strings.Builder
	fmt.Fprintf(&toml, stageConfig, providerName, providerURL)
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
	// The gateway sees nothing of the user's own environment: neither accounts nor settings.
	s.adminToken = rand.Text()
	env := []string{
		"HOME=" + home, "SHUNT_CLAUDE_ACCOUNTS_DIR=" + store, "SHUNT_CLAUDE_TOKEN_URL=" + providerURL + sim.TokenPath,
		"SHUNT_ADMIN_TOKENS=demo:" + s.adminToken,
	}
	cfg, _, err := config.Load(config.Options{Path: s.configFile, Env: env})
	if err != nil {
		return err
	}
	s.app, err = app.New(cfg, app.Options{
		Version: s.options.Version, Env: env, Clock: s.clock, OnAnswer: s.answered,
		Log: slog.New(warningTap{log.Handler(), func(text string) { s.story.tell("warning: "+text, warn) }}),
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

const stageConfig = `# The configuration of this demo. Change it and save it: the gateway takes it into use at once.
# Try ` + "`disabled = true`" + ` or ` + "`threshold = 0.5`" + ` on an account.

[server]
bind = "127.0.0.1:0"
shutdown_timeout_seconds = 2

[server.pool]
usage_refresh_seconds = 300   # of the accounts' time

[server.admin]
session_ttl_secs = 2592000    # of the accounts' time, too

[providers.%s]
auth = "claude_oauth"
base_url = %q
`

// close undoes openStage, last things first. The gateway has ended, if it ever ran.
func (s *stage) close() error {
	var err error
	for i := len(s.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, s.closers[i]())
	}
	return err
}

func (s *stage) answered(r *observe.Record) {
	s.story.answered(r, standings(s.app, s.clock.Now()))
}

// session plays one simulated coding session until ctx ends. Every third uses the Fable family.
func (s *stage) session(ctx context.Context, n int) {
	coder := sim.Session{
		BaseURL: s.url, Clock: s.clock, Seed: seed, Name: strconv.Itoa(n),
		Burst: sim.Range{Min: 3, Max: 8}, Gap: 4 * time.Second, Think: sim.Pause{Min: 15 * time.Second, Max: time.Minute},
		OnTurn: s.story.turn,
	}
	if n%3 == 2 {
		coder.FableShare = 1
	}
	coder.Run(ctx)
}

// haveAccidents has the accidents happen until ctx ends.
func (s *stage) haveAccidents(ctx context.Context) {
	for start := s.story.began; ; start = start.Add(period) {
		for _, a := range accidents {
			if s.clock.Sleep(ctx, start.Add(a.at).Sub(s.clock.Now())) != nil {
				return
			}
			a.happen(s.provider)
			if a.what != "" {
				s.story.tell(a.what, plain)
			}
		}
	}
}

// warningTap is a log handler that also tells of each warning.
type warningTap struct {
	slog.Handler
	tell func(text string)
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
		h.tell(strings.Join(strings.Fields(text), " ")) // in one line
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h warningTap) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warningTap{h.Handler.WithAttrs(attrs), h.tell}
}

func (h warningTap) WithGroup(name string) slog.Handler {
	return warningTap{h.Handler.WithGroup(name), h.tell}
}
