package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// checkedSessions is enough for sessions to use nearly all accounts of the pool.
const checkedSessions = 64

// checkShunt checks that shunt does what the report says: sessions stay on their accounts, are spread over
// the pool, and each request names the account whose token it carries.
func (b *bench) checkShunt(ctx context.Context) error {
	p, err := b.programs[1].start(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	b.up.response.Store(&response{echo: true})
	accounts := map[string]string{} // by token
	for _, k := range []kind{{body: requestBody(2_000, true)}, {body: requestBody(115_000, true)}} {
		for _, e := range exchanges(p.endpoint, k, checkedSessions) {
			first, err := fetch(ctx, p.addr, e)
			if err != nil {
				return fmt.Errorf("check: %w", p.blame(err))
			}
			again, err := fetch(ctx, p.addr, e)
			if err != nil {
				return fmt.Errorf("check: %w", p.blame(err))
			}
			if first != again {
				return fmt.Errorf("check: a session moved from %+v to %+v", first, again)
			}
			token := strings.TrimPrefix(first.Authorization, "Bearer ")
			accounts[token] = first.Account
		}
	}
	met := len(accounts)
	for i := range poolSize {
		if uuid, ok := accounts[accountToken(i)]; ok && uuid != accountUUID(i) {
			return fmt.Errorf("check: a request with the token of account %d names the account %q", i, uuid)
		}
		delete(accounts, accountToken(i))
	}
	if len(accounts) > 0 {
		return fmt.Errorf("check: unknown tokens: %v", accounts)
	}
	if met < 2 {
		return fmt.Errorf("check: %d sessions are all on one account", checkedSessions)
	}
	b.report.note(fmt.Sprintf("Checked first: %d sessions stay on their accounts, use %d of %d accounts, and their requests name the account whose token they carry.", checkedSessions, met, poolSize))
	return nil
}

func fetch(ctx context.Context, addr string, e exchange) (s seen, err error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return s, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return s, err
	}
	if _, err := c.Write(bytes.Join([][]byte{e.head, e.body, e.rest}, nil)); err != nil {
		return s, err
	}
	r, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return s, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return s, fmt.Errorf("%w: status %d", errResponse, r.StatusCode)
	}
	return s, json.NewDecoder(r.Body).Decode(&s)
}
