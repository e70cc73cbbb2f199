package pool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/identity"
	"shunt/internal/quota"
)

// TestScenarios plays every testdata/*.txt, so that a field report becomes a test once it is written down. Each
// line is an event; # starts a comment; the day begins at 00:00:
//
//	[12:00 | 12:00:05 | +31s] VERB ...      when; without it at the time of the line before
//
//	policy planned hard=.9 burn ramp=2 when_cold ttl=5m
//	                                        [server.pool]; holds for the accounts that follow
//	accounts a b:priority=1 c:disabled d:soft=.5 e:is=a f:cap=.8 g:cap5h=.8:cap7d=.7:capfable=.6
//	order s1 [fable] [advisor] -> a b c     the candidates of a request, best first; - is no session
//	state a [fable] -> cooled 30s           its group, and the rest of its cooldown
//	none s1 [fable] -> capped=2 paused=1 until=+2h
//	                                        there is no candidate, for these reasons
//	request s1 [fable] -> a 529 -> b 200 moved=failover
//	                                        what a request tries, the responses, and how its session moves;
//	                                        also why=REASON after a name, detour, and none when no account is left
//	observe a 429 5h=rejected/.99/+2h 7d=.5 all=rejected/+2h retry=30s sent=-10s [fable]
//	usage a 5h=.99/+2h sent=-10s            a response of the usage endpoint
//	credential a                            its credential has changed
//	pause a, resume a, clear a              what an operator does; clear ends the cooldowns
//
// A session s1@a is one whose home is a; later lines may call it s1.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) { play(t, file, string(text)) })
		})
	}
}

type scenario struct {
	registry *Registry
	pool     *Pool
	policy   Policy
	midnight time.Time
	sessions map[string]Session
}

func play(t *testing.T, file, text string) {
	s := scenario{registry: NewTestRegistry(), midnight: time.Now(), sessions: map[string]Session{"-": 0}}
	s.pool = s.registry.Pool("claude")
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.play(words); err != nil {
			t.Errorf("%s:%d: %s: %v", file, i+1, strings.TrimSpace(line), err)
		}
	}
}

func (s *scenario) play(words []string) error {
	if strings.ContainsAny(words[0][:1], "+0123456789") {
		if err := s.advance(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	verb, args := words[0], words[1:]
	switch verb {
	case "policy":
		return s.setPolicy(args)
	case "accounts":
		return s.accounts(args)
	case "none":
		return s.none(args)
	case "order":
		return s.order(args)
	case "state":
		return s.state(args)
	case "request":
		return s.request(args)
	case "observe":
		o, err := outcome(args[1:], FableIf(slices.Contains(args, "fable")))
		s.pool.Observe(keyOf(args[0]), o)
		return err
	case "usage":
		o, err := outcome(append([]string{"404"}, args[1:]...), NoScope)
		var u quota.Usage
		for w, from := range o.Signal.Windows {
			u.Windows[w] = quota.WindowUsage{Utilization: from.Utilization, Has: from.HasUtilization, Reset: from.Reset}
		}
		s.pool.ObserveUsage(keyOf(args[0]), u, o.Sent)
		return err
	case "pause", "resume":
		return has(s.pool.Pause(keyOf(args[0]), verb == "pause"))
	case "clear":
		return has(s.pool.ClearCooldown(keyOf(args[0])))
	case "credential":
		s.registry.CredentialChanged(keyOf(args[0]))
		return nil
	}
	return fmt.Errorf("unknown verb %q", verb)
}

func has(account bool) error {
	if !account {
		return errors.New("no such account")
	}
	return nil
}

// advance sleeps for +31s, or until 12:00 or 12:00:05.
func (s *scenario) advance(when string) error {
	d, err := duration(strings.TrimPrefix(when, "+"))
	if !strings.HasPrefix(when, "+") {
		layout := time.TimeOnly[:len(when)]
		var clock time.Time
		if clock, err = time.Parse(layout, when); err == nil {
			midnight, _ := time.Parse(layout, "00:00:00"[:len(when)])
			d = time.Until(s.midnight.Add(clock.Sub(midnight)))
		}
	}
	if err == nil && d < 0 {
		err = fmt.Errorf("%s has passed", when)
	}
	if err == nil {
		time.Sleep(d)
	}
	return err
}

func (s *scenario) setPolicy(args []string) (err error) {
	s.policy = Policy{}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "planned":
			s.policy.Planned = true
		case "burn":
			s.policy.AvoidBurnRate = true
		case "when_cold":
			s.policy.ReturnWhenCold = true
		case "ttl":
			s.policy.CacheTTL, err = duration(value)
		case "hard":
			s.policy.Hard, err = strconv.ParseFloat(value, 64)
		case "ramp":
			s.policy.RampInitial, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("unknown option %q", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) accounts(args []string) error {
	var accounts []Account
	for _, arg := range args {
		options := strings.Split(arg, ":")
		a := Account{Name: options[0], Key: keyOf(options[0]), Soft: quota.Soft(s.policy.hard())}
		var caps quota.Setting
		for _, option := range options[1:] {
			name, value, _ := strings.Cut(option, "=")
			var err error
			switch name {
			case "priority":
				a.Priority, err = strconv.Atoi(value)
			case "disabled":
				a.Disabled = true
			case "soft":
				var soft float64
				soft, err = strconv.ParseFloat(value, 64)
				a.Soft = quota.Soft(s.policy.hard(), quota.Setting{All: &soft})
			case "cap", "cap5h", "cap7d", "capfable":
				var limit float64
				limit, err = strconv.ParseFloat(value, 64)
				*map[string]**float64{
					"cap": &caps.All, "cap5h": &caps.Window[FiveHour],
					"cap7d": &caps.Window[SevenDay], "capfable": &caps.Window[FableWeek],
				}[name] = &limit
			case "is":
				a.Key = keyOf(value)
			default:
				err = fmt.Errorf("unknown option %q", name)
			}
			if err != nil {
				return err
			}
		}
		a.Caps = quota.Cap(caps)
		accounts = append(accounts, a)
	}
	s.pool.Configure(accounts, s.policy)
	return nil
}

// parse returns the request of "s1 [fable] -> ..." and the words after each arrow.
func (s *scenario) parse(args []string) (Criteria, [][]string, error) {
	before, after, _ := strings.Cut(strings.Join(args, " "), "->")
	words := strings.Fields(before)
	session, err := s.session(words[0])
	var parts [][]string
	for _, part := range strings.Split(after, "->") {
		parts = append(parts, strings.Fields(part))
	}
	return Criteria{
		Session: session, Scope: FableIf(slices.Contains(words, "fable")), ToolScope: FableIf(slices.Contains(words, "advisor")),
	}, parts, err
}

func (s *scenario) session(word string) (Session, error) {
	name, home, _ := strings.Cut(word, "@")
	if known, ok := s.sessions[name]; ok {
		return known, nil
	}
	session := SessionOf(name)
	for i := 0; home != "" && s.homeOf(session) != keyOf(home); i++ {
		if i == 10_000 {
			return 0, fmt.Errorf("no session is at home at %s", home)
		}
		session = SessionOf(fmt.Sprintf("%s-%d", name, i))
	}
	s.sessions[name] = session
	return session, nil
}

func (s *scenario) homeOf(session Session) identity.Key {
	return s.pool.members[homeOf(s.pool.members, session)].Key
}

func (s *scenario) order(args []string) error {
	req, parts, err := s.parse(args)
	if err != nil {
		return err
	}
	selection := s.pool.Begin(req)
	var got []string
	for _, r := range Order(selection.members, selection.query, time.Now()) {
		got = append(got, r.Member.Name)
	}
	if !slices.Equal(got, parts[0]) {
		return fmt.Errorf("order is %v", got)
	}
	return nil
}

func (s *scenario) state(args []string) error {
	before, want, _ := strings.Cut(strings.Join(args, " "), "->")
	words := strings.Fields(before)
	for i := range s.pool.members {
		m := &s.pool.members[i]
		if m.Name != words[0] {
			continue
		}
		q := Query{Criteria: Criteria{Scope: FableIf(slices.Contains(words, "fable"))}, Policy: s.policy}
		got := rank(m, &q, time.Now()).Group.String()
		if until, _ := m.Health.CooledUntil(q.Scope, time.Now()); !until.IsZero() {
			got += " " + time.Until(until).String()
		}
		if got != strings.TrimSpace(want) {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	}
	return fmt.Errorf("no account %q", words[0])
}

func (s *scenario) none(args []string) error {
	req, parts, err := s.parse(args)
	if err != nil {
		return err
	}
	selection := s.pool.Begin(req)
	if c, ok := selection.Next(context.Background()); ok {
		return fmt.Errorf("there is %s", c.Name)
	}
	v := selection.Verdict()
	var got []string
	for _, part := range []struct {
		name string
		n    int
	}{{"capped", v.Capped}, {"paused", v.Paused}, {"disabled", v.Disabled}} {
		if part.n > 0 {
			got = append(got, fmt.Sprintf("%s=%d", part.name, part.n))
		}
	}
	if !v.Eligible.IsZero() {
		got = append(got, "until=+"+time.Until(v.Eligible).String())
	}
	if !slices.Equal(got, parts[0]) {
		return fmt.Errorf("verdict is %v", got)
	}
	return nil
}

func (s *scenario) request(args []string) error {
	req, attempts, err := s.parse(args)
	if err != nil {
		return err
	}
	selection := s.pool.Begin(req)
	defer selection.Release()
	for _, words := range attempts {
		c, ok := selection.Next(context.Background())
		if words[0] == "none" && !ok {
			return nil
		}
		if c.Name != words[0] {
			return fmt.Errorf("tried %q where %q was expected", c.Name, words[0])
		}
		if why, given := option(words, "why"); given && string(c.Why) != why {
			return fmt.Errorf("%s was chosen for %q", c.Name, c.Why)
		}
		o, err := outcome(words[1:], req.Scope)
		if err != nil {
			return err
		}
		selection.Observe(c, o)
		if o.Event != Success {
			continue
		}
		want, _ := option(words, "moved")
		if move, _ := selection.Served(c, slices.Contains(words, "detour")); string(move.Reason) != want {
			return fmt.Errorf("moved from %q for %q", move.From, move.Reason)
		}
	}
	return nil
}
