package account_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"shunt/internal/store"
)

// disk has all directories of a test, in memory unless real is set. Its operations can be made to fail.
type disk struct {
	mu     sync.Mutex
	stores map[string]*store.Memory
	faults faults
	before func() // called before each write

	real func(dir string) store.Store // returns the files of a directory; nil: everything is in memory
}

// faults are the errors of a disk's operations; nil: they succeed.
type faults struct{ get, list, put, lease error }

type directory struct {
	store.Store
	disk *disk
}

func (d *disk) open(dir string) store.Store {
	if d.real != nil {
		return directory{d.real(dir), d}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stores[dir] == nil {
		d.stores[dir] = &store.Memory{}
	}
	return directory{d.stores[dir], d}
}

// fail makes the operations with an error fail from now on, and the others succeed.
func (d *disk) fail(f faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = f
}

func (d *disk) failing() faults {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.faults
}

func (d directory) Get(ctx context.Context, name string) (store.Doc, error) {
	if err := d.disk.failing().get; err != nil {
		return store.Doc{}, err
	}
	return d.Store.Get(ctx, name)
}

func (d directory) List(ctx context.Context) ([]string, error) {
	if err := d.disk.failing().list; err != nil {
		return nil, err
	}
	return d.Store.List(ctx)
}

func (d directory) Lease(ctx context.Context, name string) (store.Lease, error) {
	if err := d.disk.failing().lease; err != nil {
		return nil, err
	}
	return d.Store.Lease(ctx, name)
}

func (d directory) PutIf(ctx context.Context, name string, data []byte, was store.Version) (store.Version, error) {
	d.disk.mu.Lock()
	before, err := d.disk.before, d.disk.faults.put
	d.disk.mu.Unlock()
	if before != nil {
		before()
	}
	if err != nil {
		return "", err
	}
	return d.Store.PutIf(ctx, name, data, was)
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

	token  func(name string, expires time.Time) string // an access token; see form
	tokens sync.Map                                    // the access tokens by their names
}

// mint returns the access token of a name.
func (e *endpoint) mint(name string, expires time.Time) string {
	token := e.token(name, expires)
	e.tokens.Store(name, token)
	return token
}

// RoundTrip implements http.RoundTripper. A caller that gives up has used its refresh token all the same.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	presented, err := refreshTokenIn(body)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.calls = append(e.calls, time.Now())
	e.now++
	e.most = max(e.most, e.now)
	reply, status := e.reply(presented)
	var delay time.Duration
	if e.delay != nil {
		delay = e.delay(presented)
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
	name := fmt.Sprintf("tok-oat-%s#%d", login, e.minted)
	reply := fmt.Sprintf(`{"access_token":%q,"refresh_token":%q,"id_token":%q,"expires_in":%d}`,
		e.mint(name, time.Now().Add(e.lifetime)), next, idToken(name), int(e.lifetime.Seconds()))
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
