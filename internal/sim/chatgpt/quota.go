package chatgpt

import (
	"math"
	"net/http"
	"strconv"
	"time"

	"shunt/internal/sim/engine"
)

var windowLengths = [2]time.Duration{300 * time.Minute, 7 * 24 * time.Hour}

// WindowName names a window as the provider does.
type WindowName int

// The windows.
const (
	Primary WindowName = iota
	Secondary
)

func (w WindowName) String() string { return [...]string{"primary", "secondary"}[w] }

// Fill sets the used fraction of a window.
func (p *Provider) Fill(account string, w WindowName, fraction float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	a.expire(p.Now())
	a.windows[w].Used = fraction * float64(a.windows[w].Size)
}

// Utilization returns the used fraction of a window and the time of its reset.
func (p *Provider) Utilization(account string, w WindowName) (fraction float64, resets time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.account(account)
	a.expire(p.Now())
	return a.windows[w].Utilization(), a.windows[w].Resets
}

func (a *account) expire(now time.Time) {
	for i := range a.windows {
		a.windows[i].Expire(now)
	}
}

// full returns the reset of the full window that resets last, and whether any is full.
func (a *account) full() (resets time.Time, full bool) {
	for i := range a.windows {
		if w := &a.windows[i]; w.Full() && w.Resets.After(resets) {
			resets, full = w.Resets, true
		}
	}
	return resets, full
}

func (a *account) charge(tokens float64) {
	for i := range a.windows {
		a.windows[i].Used += tokens
	}
}

// percent returns the used percentage with one decimal. Only a full window has 100.
func percent(w *engine.Window) float64 {
	used := math.Round(w.Utilization()*1000) / 10
	if !w.Full() {
		return min(used, 99.9)
	}
	return max(used, 100)
}

// quotaHeaders sets the headers about the account's windows.
func (x *exchange) quotaHeaders() {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	now, h := x.p.Now(), x.W.Header()
	x.a.expire(now)
	h.Set("X-Codex-Plan-Type", x.a.Plan)
	for i := range x.a.windows {
		w := &x.a.windows[i]
		if w.Off {
			continue
		}
		name := "X-Codex-" + WindowName(i).String()
		h.Set(name+"-Used-Percent", strconv.FormatFloat(percent(w), 'f', -1, 64))
		h.Set(name+"-Window-Minutes", strconv.Itoa(int(w.Length/time.Minute)))
		h.Set(name+"-Reset-At", strconv.FormatInt(w.Resets.Unix(), 10))
		h.Set(name+"-Reset-After-Seconds", strconv.FormatInt(seconds(w.Resets.Sub(now)), 10))
	}
}

// seconds returns d in whole seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// rateLimitEvent returns the event codex.rate_limits.
func (x *exchange) rateLimitEvent() engine.Event {
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	limits := engine.Object{"allowed": true, "limit_reached": false, "primary": nil, "secondary": nil}
	for i := range x.a.windows {
		if w := &x.a.windows[i]; !w.Off {
			limits[WindowName(i).String()] = engine.Object{
				"used_percent": percent(w), "window_minutes": int(w.Length / time.Minute), "reset_at": w.Resets.Unix(),
				"reset_after_seconds": seconds(w.Resets.Sub(x.p.Now())),
			}
		}
	}
	return engine.Named("codex.rate_limits", engine.Object{
		"type": "codex.rate_limits", "plan_type": x.a.Plan, "rate_limits": limits, "code_review_rate_limits": nil,
		"credits": engine.Object{"has_credits": false, "unlimited": false, "balance": nil},
	})
}

// usage serves the usage API.
func (x *exchange) usage() {
	x.p.mu.Lock()
	now := x.p.Now()
	_, full := x.a.full()
	limit := engine.Object{"allowed": !full, "limit_reached": full, "primary_window": nil, "secondary_window": nil}
	for i := range x.a.windows {
		if w := &x.a.windows[i]; !w.Off {
			limit[WindowName(i).String()+"_window"] = engine.Object{
				"used_percent": int(percent(w)), "limit_window_seconds": int(w.Length / time.Second),
				"reset_after_seconds": seconds(w.Resets.Sub(now)), "reset_at": w.Resets.Unix(),
			}
		}
	}
	x.p.mu.Unlock()
	x.JSON(http.StatusOK, engine.Object{
		"user_id": x.a.User, "account_id": x.a.ID, "email": x.a.Name + "@example.com", "plan_type": x.a.Plan,
		"rate_limit": limit, "code_review_rate_limit": nil, "additional_rate_limits": []any{},
		"credits": engine.Object{"has_credits": false, "unlimited": false, "balance": nil},
	})
}

// reject sends the 429 of an account without quota until the time.
func (x *exchange) reject(resets time.Time) {
	x.JSON(http.StatusTooManyRequests, usageLimit(x.a.Plan, resets, x.p.Now()))
}

func usageLimit(plan string, resets, now time.Time) engine.Object {
	return engine.Object{"error": engine.Object{
		"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": plan,
		"resets_at": resets.Unix(), "resets_in_seconds": seconds(resets.Sub(now)),
	}}
}
