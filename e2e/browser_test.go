package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"shunt/internal/sim"
)

const dashboardToken = "a-dashboard-token-of-some-length"

// openBrowser starts Chromium with its own profile and home, on loopback only.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.UserDataDir(t.TempDir()), chromedp.Env("HOME="+t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true), chromedp.WindowSize(1280, 900),
	)
	allocator, closeAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	tab, closeTab := chromedp.NewContext(allocator)
	if err := chromedp.Do(tab); err != nil { // a timeout on the first call would limit the browser's lifetime
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(tab, 2*time.Minute)
	t.Cleanup(func() { cancel(); closeTab(); closeAllocator() })
	return ctx
}

// page is the dashboard in a browser.
type page struct {
	*testing.T
	ctx context.Context
}

func (p *page) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.Fatalf("%s: %v", what, err)
	}
}

// value evaluates an expression in the page and awaits a promise.
func value[T any](p *page, script string) T {
	p.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%.80s: %v", script, err)
	}
	return v
}

// until waits until an expression in the page is true.
func (p *page) until(what, script string) {
	p.Helper()
	if _, err := chromedp.Run(p.ctx, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(30*time.Second))); err != nil {
		p.Fatalf("%s: %v\n%s", what, err, value[string](p, "document.querySelector('main').innerText"))
	}
}

// says waits until the text of a matching element contains the words.
func (p *page) says(selector, words string) {
	p.Helper()
	quoted, _ := json.Marshal(words)
	p.until(selector+" says "+words, `[...document.querySelectorAll('`+selector+`')].some((e) => e.textContent.includes(`+string(quoted)+`))`)
}

// picture saves screenshots as artifacts: light and dark, wide and narrow.
func (p *page) picture(name string) {
	p.Helper()
	for _, scheme := range []string{"light", "dark"} {
		for name, width := range map[string]int64{name + "-" + scheme + "-wide.png": 1280, name + "-" + scheme + "-narrow.png": 360} {
			p.do("set color scheme", prefer(scheme), chromedp.EmulateViewport(width, 900))
			png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
			if err != nil {
				p.Fatal(err)
			}
			writeFile(p.T, filepath.Join(artifacts(p.T), name), png)
			if wide := value[int64](p, "document.documentElement.scrollWidth"); wide > width {
				p.Errorf("%s is %d pixels wide", name, wide)
			}
		}
	}
	p.do("restore width", chromedp.EmulateViewport(1280, 900))
}

// prefer sets the preferred color scheme, light or dark.
func prefer(scheme string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (none chromedp.Void, _ error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return none, err
	}
}

func artifacts(t *testing.T) string {
	t.Helper()
	if err := os.MkdirAll("artifacts", 0o755); err != nil {
		t.Fatal(err)
	}
	return "artifacts"
}

// accessible runs axe-core on the page and reports serious violations.
func (p *page) accessible(what string) {
	p.Helper()
	axe, err := os.ReadFile("clients/node_modules/axe-core/axe.min.js")
	if err != nil {
		p.Fatal(err)
	}
	type violation struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML string }
	}
	value[int](p, string(axe)+";0")
	found := value[[]violation](p, `axe.run().then((r) => r.violations)`)
	for _, v := range found {
		if v.Impact == "serious" || v.Impact == "critical" {
			p.Errorf("%s: %s (%s): %s %v", what, v.ID, v.Impact, v.Help, v.Nodes)
		}
	}
}

// ADM-2, ADM-5, ADM-6, PAU-1, SEL-32: an operator uses every part of the page.
func TestDashboard(t *testing.T) {
	window := func(fill float64) sim.Window { return sim.Window{Size: 60_000, Fill: fill} }
	p := startProvider(t, sim.Config{Accounts: []sim.Account{
		{Name: "a", FiveHour: window(0.1)}, {Name: "b", FiveHour: window(0.05)}, {Name: "third"},
	}})
	g := startGateway(t, p, newStore(t, p, "a", "b"), pool+"\n[server.pool]\ndefault_threshold = 0.8\ndefault_max_utilization_5h = 0.9\n[server.admin]\n",
		"SHUNT_ADMIN_TOKENS=ops:"+dashboardToken, "SHUNT_CLAUDE_AUTHORIZE_URL="+p.url+sim.AuthorizePath)
	d := &page{t, openBrowser(t)}

	d.do("open", chromedp.Navigate(g.url+"/admin"), chromedp.WaitVisible(`input[name=token]`))
	d.accessible("login page")
	d.do("log in with a wrong token", chromedp.SendKeys(`input[name=token]`, "wrong"), chromedp.Click(`form button`), chromedp.WaitVisible(`.problem`))
	d.says(".problem", "not an admin token")
	d.picture("login")
	d.do("log in", chromedp.SendKeys(`input[name=token]`, dashboardToken), chromedp.Click(`form button`), chromedp.WaitVisible(`#pools`))
	d.says(".state", "not seen yet")
	d.says("#live", "live")

	// Bars fill while sessions send requests, and mark the threshold and the cap.
	g.work(t, 6)
	d.until("a bar fills", `[...document.querySelectorAll('.bar')].some((b) => /5h window: [1-9]/.test(b.getAttribute('aria-label')) && b.querySelector('line.cap').getAttribute('x1') === '90.00' && b.querySelector('line.soft').getAttribute('x1') === '80.00')`)
	d.says(".used", "cap 90 %")
	d.says("#requests td", model)
	d.picture("dashboard")
	d.accessible("dashboard")

	// A paused account gets no requests until it is resumed.
	d.do("pause", chromedp.Click(`button[aria-label="Pause a"]`))
	d.says(".state", "paused")
	before := p.Counters("a").Requests
	g.work(t, 4)
	if after := p.Counters("a").Requests; after != before {
		t.Errorf("%d requests reached a paused account", after-before)
	}
	d.do("resume", chromedp.Click(`button[aria-label="Resume a"]`), chromedp.WaitVisible(`button[aria-label="Pause a"]`))

	// The page explains the order of accounts for a request.
	d.do("why", chromedp.Click(`button[data-act=why]`), chromedp.WaitVisible(`#explanation li`))
	d.says("#explanation li", "Priority 100")
	d.accessible("explanation")
	d.picture("explanation")
	d.do("close", chromedp.Click(`#explanation button`))

	// The page shows a cooldown, which the operator can end.
	p.Inject("", sim.ServerError(500).Times(1))
	g.work(t, 1)
	d.says(".state", "cooling down")
	d.do("end the cooldown", chromedp.Click(`button[data-act=clear]`), chromedp.WaitVisible(`#confirming`), chromedp.Click(`#confirming button[value=yes]`))

	// The operator adds an account with a login at the provider.
	d.do("add", chromedp.Click(`#add`), chromedp.SendKeys(`#adding-name input`, "third"), chromedp.Click(`#adding-name button`), chromedp.WaitVisible(`#adding-link`))
	d.accessible("adding")
	d.picture("adding")
	link := value[string](d, `document.getElementById('adding-link').href`)
	code, err := sim.Browser{Account: "third"}.Authorize(d.ctx, link)
	if err != nil {
		t.Fatal(err)
	}
	d.do("paste", chromedp.SendKeys(`#adding-code input`, code), chromedp.Click(`#adding-code button`))
	d.says(".who strong", "third")

	d.do("remove", chromedp.Click(`button[aria-label="Remove third"]`), chromedp.WaitVisible(`#confirming`), chromedp.Click(`#confirming button[value=yes]`))
	d.until("the account is gone", `![...document.querySelectorAll('.who strong')].some((e) => e.textContent === 'third')`)

	// The first view is small and loads nothing from another origin.
	d.do("reload", chromedp.Reload(), chromedp.WaitVisible(`#pools`))
	bytes := value[int](d, `[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce((n, e) => n + e.decodedBodySize, 0)`)
	foreign := value[[]string](d, `performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin))`)
	if bytes == 0 || bytes > 100_000 || len(foreign) > 0 {
		t.Errorf("first view: %d bytes, from other origins: %v", bytes, foreign)
	}
	d.do("log out", chromedp.Click(`#logout`), chromedp.WaitVisible(`input[name=token]`))
}

// work sends a request for each of a number of sessions and reads the responses.
func (g *gateway) work(t *testing.T, sessions int) {
	t.Helper()
	for i := range sessions {
		body := `{"model":"` + model + `","max_tokens":200,"stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("work ", 400) + `"}]}`
		r, err := http.NewRequest(http.MethodPost, g.url+sim.MessagesPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Anthropic-Version", "2023-06-01")
		r.Header.Set("X-Claude-Code-Session-Id", t.Name()+string(rune('a'+i)))
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sim.ReadResponse(response); err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
}
