package account

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shunt/internal/oauth"
	"shunt/internal/secret"
)

// TOK-4: nobody enters while one of their labels is held, everybody enters eventually, and a waiter may give up.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate{held: map[string]chan struct{}{}}
		var mu sync.Mutex
		inside := map[string]int{}
		var wg sync.WaitGroup
		for i := range 30 {
			labels := [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "c"}, {"c"}, {"d"}}[i%6]
			wg.Go(func() {
				leave, err := g.enter(t.Context(), labels...)
				if err != nil {
					t.Error(err)
					return
				}
				for _, step := range []int{1, -1} {
					mu.Lock()
					for _, label := range labels {
						if inside[label] += step; inside[label] > 1 {
							t.Errorf("%d hold %s", inside[label], label)
						}
					}
					mu.Unlock()
					time.Sleep(time.Second)
				}
				leave()
			})
		}
		wg.Wait()
		if len(g.held) != 0 {
			t.Errorf("still held: %v", g.held)
		}

		leave, err := g.enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		reason := errors.New("reason")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, reason)
		defer cancel()
		if _, err := g.enter(ctx, "a"); !errors.Is(err, reason) {
			t.Errorf("err = %v", err)
		}
		leave()
	})
}

// TOK-7c: any number of simultaneous events are spaced out, and one that gives up delays others only for its turn.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{distance: time.Second}
		start := time.Now()
		var mu sync.Mutex
		turns := map[time.Duration]int{}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := p.wait(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				turns[time.Since(start)]++
			})
		}
		wg.Wait()
		for i := range 5 {
			if turns[time.Duration(i)*time.Second] != 1 {
				t.Errorf("turns: %v", turns)
			}
		}
		time.Sleep(time.Hour)
		start = time.Now()
		if err := p.wait(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("after a rest: %v, %v", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
}

// TOK-7e: a spent token leads to the newest one; a provider that does not rotate causes no cycle.
func TestSuccessors(t *testing.T) {
	login := func(n string) credential {
		return credential{Credential: oauth.Credential{Access: secret.New("a" + n), Refresh: secret.New("r" + n)}}
	}
	s := newSuccessors()
	s.add(login("1"), login("2"))
	s.add(login("2"), login("3"))
	unrotated := login("3")
	unrotated.Access = secret.New("a4")
	s.add(login("3"), unrotated)
	if got, spent := s.latest(login("1")); !spent || got != login("3") {
		t.Errorf("successor %+v, %v", got, spent)
	}
	unrefreshable := login("")
	unrefreshable.Refresh = secret.String{}
	for _, c := range []credential{login("3"), login("x"), unrefreshable} {
		if got, spent := s.latest(c); spent || got != c {
			t.Errorf("successor %+v, %v", got, spent)
		}
	}
}
