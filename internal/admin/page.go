package admin

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"shunt/internal/observe"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.ParseFS(assets, "assets/*.tmpl"))

// assetTypes are the content types of the files that a browser may fetch.
var assetTypes = map[string]string{"admin.css": "text/css; charset=utf-8", "admin.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}

func (a *Admin) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind, known := assetTypes[name]
	if !known {
		refuse(w, http.StatusNotFound, "no such page")
		return
	}
	data, err := assets.ReadFile(path.Join("assets", name))
	if err != nil {
		panic(err) // embedded files can be read
	}
	w.Header().Set("Content-Type", kind)
	w.Write(data)
}

func (a *Admin) showLogin(w http.ResponseWriter, status int, problem string) {
	show(w, status, "login.tmpl", problem)
}

// page serves the page, or redirects to the login form.
func (a *Admin) page(w http.ResponseWriter, r *http.Request) {
	session, ok := a.sessions.of(r)
	if !ok {
		http.Redirect(w, r, "/admin/login", http.StatusSeeOther)
		return
	}
	show(w, http.StatusOK, "admin.tmpl", struct {
		CSRF, Version string
		Now           int64   // of shunt's clock, Unix milliseconds
		Speed         float64 // of that clock
		Parts         []part
		Causes        string // JSON: words for causes
		Windows       string // JSON: titles of windows
		Families      []Family
	}{
		session.csrf, a.Version, a.Clock.Now().UnixMilli(), float64(time.Second) / float64(a.Clock.Scale(time.Second)), a.parts(),
		string(encoded(causesOf(a.Families))), string(encoded(windowTitles(a.Families))), a.Families,
	})
}

func show(w http.ResponseWriter, status int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte(render(name, data)))
}

func render(name string, data any) template.HTML {
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, name, data); err != nil {
		panic(err) // the templates fit their data
	}
	return template.HTML(out.String())
}

// part is a part of the page that is updated while the page is open.
type part struct {
	id, title string
	html      template.HTML
}

func (p part) ID() string          { return p.id }
func (p part) Title() string       { return p.title }
func (p part) HTML() template.HTML { return p.html }

const shownRequests = 30

func (a *Admin) parts() []part {
	pools := a.pools()
	requests := a.recent.newest(shownRequests)
	return []part{
		{"health", "", render("health.tmpl", a.Health.List())},
		{"pools", "Accounts", render("pools.tmpl", a.poolViews(pools))},
		{"plots", "Utilization", render("plots.tmpl", a.plots(pools))},
		{"requests", "Recent requests", render("requests.tmpl", requestViews(requests))},
	}
}

type poolView struct {
	Provider string
	Family   string // of the accounts; empty if it is not a pool
	Auth     string
	Accounts []accountView
}

type accountView struct {
	AccountState
	Summary
	Provider string
	Family   string
	Headroom string
	Bars     []barView
	Counts   string

	Clearable bool // FO-13 would change something
}

func (a *Admin) poolViews(pools Pools) []poolView {
	now := a.Clock.Now().Unix()
	var views []poolView
	for _, p := range pools.Providers {
		v := poolView{Provider: p.Provider, Family: p.family, Auth: strings.ReplaceAll(string(p.Auth), "_", " ")}
		for _, s := range p.Accounts {
			account := accountView{
				AccountState: s, Summary: s.Summary(now), Provider: p.Provider, Family: p.family, Bars: barsOf(&s), Clearable: clearable(&s),
				Counts: fmt.Sprintf("%s, %d failed over", counted(s.Requests, "request"), s.Rotations),
			}
			if s.Headroom != nil {
				account.Headroom = duration(*s.Headroom)
			}
			v.Accounts = append(v.Accounts, account)
		}
		views = append(views, v)
	}
	return views
}

// clearable reports whether an account has a cooldown or a rejected status.
func clearable(s *AccountState) bool {
	for _, w := range s.AllWindows() {
		if rejected(w.Status) {
			return true
		}
	}
	cooling := func(scope ScopeState) bool { return scope.Cooldown > 0 }
	return rejected(s.Status) || s.Cooldown > 0 || slices.ContainsFunc(s.allScopes(), cooling)
}

// barView is one window of an account. Positions are percentages of the width of the bar.
type barView struct {
	Window string
	Known  bool
	Fill   float64
	Text   string // next to the bar: "30 % · cap 50 %"
	Label  string // for screen readers
	Soft   float64
	Capped bool // whether there is a cap
	Cap    float64
	Reset  *int64
	Tone   string
}

func barsOf(s *AccountState) []barView {
	var bars []barView
	for _, w := range s.AllWindows() {
		used, soft, limit := w.Utilization, w.Threshold, w.Cap
		b := barView{Window: label(w.Window), Soft: 100 * soft, Reset: w.Reset, Text: "unknown", Tone: "idle"}
		if used != nil {
			b.Known, b.Fill, b.Tone = true, min(100, 100**used), "ok"
			b.Text = fmt.Sprintf("%.0f %%", 100**used)
			if *used >= soft {
				b.Tone = "warn"
			}
			if *used >= 1 || limit != nil && *used >= *limit {
				b.Tone = "bad"
			}
		}
		b.Label = fmt.Sprintf("%s window: %s, threshold %.0f %%", b.Window, b.Text, b.Soft)
		if limit != nil {
			b.Capped, b.Cap = true, 100**limit
			b.Text += fmt.Sprintf(" · cap %.0f %%", b.Cap)
			b.Label += fmt.Sprintf(", cap %.0f %%", b.Cap)
		}
		bars = append(bars, b)
	}
	return bars
}

// counted returns a number of things: "1 request", "2 requests".
func counted(n uint64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// duration formats a number of seconds in its two largest units.
func duration(seconds float64) string {
	sign := ""
	if seconds < 0 {
		sign, seconds = "-", -seconds
	}
	d := time.Duration(seconds) * time.Second
	switch {
	case d >= 24*time.Hour:
		return fmt.Sprintf("%s%dd %dh", sign, int(d.Hours())/24, int(d.Hours())%24)
	case d >= time.Hour:
		return fmt.Sprintf("%s%dh %dm", sign, int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%s%dm", sign, int(d.Minutes()))
}

type requestView struct {
	*observe.Record
	At, Duration, First string
	Choice, Ended, Tone string
	Rotations           []string
}

func requestViews(records []*observe.Record) []requestView {
	views := make([]requestView, len(records))
	for i, r := range records {
		views[i] = requestView{
			Record: r, At: r.Time.UTC().Format("15:04:05"), Duration: millis(r.Duration), First: millis(r.TTFB),
			Choice: inWords(choices, r.Why), Ended: inWords(ends, string(r.End)), Tone: "ok",
		}
		for _, step := range r.Rotations {
			views[i].Rotations = append(views[i].Rotations, step.From+": "+causeInWords(step.Reason))
		}
		switch {
		case r.End != "":
			views[i].Tone = "warn"
		case r.Status >= 400:
			views[i].Tone = "bad"
		}
	}
	return views
}

func millis(m observe.Millis) string {
	d := time.Duration(m)
	switch {
	case d == 0:
		return ""
	case d < time.Millisecond:
		return "< 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
