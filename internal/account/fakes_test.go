package account_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"shunt/internal/store"
)

// disk is every directory of a test in memory, with a switch that makes writes fail. Its handles implement store.Store.
type disk struct {
	mu      sync.Mutex
	stores  map[string]*store.Memory
	failing error
	before  func() // runs before each write

	real func(dir string) store.Store // in place of all that; nil: none
}

type directory struct {
	*store.Memory
	disk *disk
}

func (d *disk) open(dir string) store.Store {
	if d.real != nil {
		return d.real(dir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stores[dir] == nil {
		d.stores[dir] = &store.Memory{}
	}
	return directory{d.stores[dir], d}
}

func (d *disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failing = err
}

func (d directory) PutIf(ctx context.Context, name string, data []byte, was store.Version) (store.Version, error) {
	d.disk.mu.Lock()
	before, err := d.disk.before, d.disk.failing
	d.disk.mu.Unlock()
	if before != nil {
		before()
	}
	if err != nil {
		return "", err
	}
	return d.Memory.PutIf(ctx, name, data, was)
}

// endpoint is a token endpoint that rotates: a refresh token is good once.
type endpoint struct {
	mu       sync.Mutex
	valid    map[string]bool
	minted   int
	calls    []time.Time
	now      int // calls under way
	most     int // calls that were under way at once
	lifetime time.Duration

	delay  func(refresh string) time.Duration // nil: none
	answer func(refresh string) string        // a reply in place of a grant; nil or empty: a grant

	transform func(reply string) string // of a grant; nil: as it is
}

// RoundTrip implements http.RoundTripper. A caller that gives up has used its refresh token all the same.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	var ask struct {
		Refresh string `json:"refresh_token"`
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.calls = append(e.calls, time.Now())
	e.now++
	e.most = max(e.most, e.now)
	reply, status := e.reply(ask.Refresh)
	var delay time.Duration
	if e.delay != nil {
		delay = e.delay(ask.Refresh)
	}
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.now--
	}()
	select {
	case <-time.After(delay):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	w.WriteHeader(status)
	_, _ = io.WriteString(w, reply)
	return w.Result(), nil
}

func (e *endpoint) reply(refresh string) (string, int) {
	if e.answer != nil {
		if reply := e.answer(refresh); reply != "" {
			return reply, 400
		}
	}
	if !e.valid[refresh] {
		return `{"error":"invalid_grant","error_description":"` + refresh + `"}`, 400
	}
	delete(e.valid, refresh)
	e.minted++
	login, _, _ := strings.Cut(strings.TrimPrefix(refresh, "tok-ort-"), "#")
	next := fmt.Sprintf("tok-ort-%s#%d", login, e.minted)
	e.valid[next] = true
	reply := fmt.Sprintf(`{"access_token":"tok-oat-%s#%d","refresh_token":%q,"expires_in":%d}`,
		login, e.minted, next, int(e.lifetime.Seconds()))
	if e.transform != nil {
		reply = e.transform(reply)
	}
	return reply, 200
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.calls)
}
