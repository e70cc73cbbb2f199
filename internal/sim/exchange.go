package sim

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/internal/dialect/messages"
	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
)

// maxBody is the largest request body in bytes.
const maxBody = 32 << 20

const rateLimitMessage = "This request would exceed your account's rate limit. Please try again later."

// exchange is a request and its response.
type exchange struct {
	p         *Provider
	w         http.ResponseWriter
	r         *http.Request
	body      []byte
	prompt    prompt
	malformed error          // why prompt could not be read
	request   render.Request // of inference, once it has been checked

	seq     int64  // of its record
	id      string // the response's request-id
	account *account
	scope   string
	fault   Fault // the fault that hits the request
	status  int   // of the response; 0 before it is sent
	outcome Outcome
	tokens  Tokens

	refreshed bool // the account's tokens were rotated
}

// failure describes an error response.
type failure struct {
	status     int
	kind       messages.ErrorType
	message    string
	retryAfter string
}

type endpoint struct {
	method string
	serve  func(*exchange)
}

var endpoints = map[string]endpoint{
	MessagesPath:    {http.MethodPost, (*exchange).messages},
	CountTokensPath: {http.MethodPost, (*exchange).countTokens},
	ModelsPath:      {http.MethodGet, (*exchange).models},
	UsagePath:       {http.MethodGet, (*exchange).usage},
	AuthorizePath:   {http.MethodGet, (*exchange).authorize},
	TokenPath:       {http.MethodPost, (*exchange).grantTokens},
}

// ServeHTTP serves one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	x := &exchange{p: p, w: w, r: r, body: body}
	path := r.URL.EscapedPath()
	if inference := path == MessagesPath || path == CountTokensPath; inference && len(body) <= maxBody {
		x.malformed = json.Unmarshal(body, &x.prompt)
	}
	x.begin()
	defer x.finish()
	if err != nil {
		x.outcome = Canceled
		return
	}

	h := w.Header()
	h.Set("Request-Id", x.id)
	h.Set("Server", "cloudflare")
	h.Set("Set-Cookie", "__cf_bm="+x.id+"; path=/; HttpOnly; Secure")
	x.route(path)
}

func (x *exchange) route(path string) {
	e, known := endpoints[path]
	switch {
	case len(x.body) > maxBody:
		x.fail(failure{http.StatusRequestEntityTooLarge, messages.TypeTooLarge, "Request exceeds the maximum size", ""})
		return
	case !known:
		x.fail(failure{http.StatusNotFound, messages.TypeNotFound, "Not Found", ""})
		return
	case x.r.Method != e.method:
		x.w.Header().Set("Allow", e.method)
		x.fail(failure{http.StatusMethodNotAllowed, messages.TypeInvalidRequest, "Method Not Allowed", ""})
		return
	case path == TokenPath || path == AuthorizePath: // the client has no token yet
		e.serve(x)
		return
	}

	var rejection *failure
	x.account, x.scope, rejection = x.p.authenticate(x.r.Header)
	if x.injectFault(rejection == nil) {
		return
	}
	if rejection != nil {
		x.fail(*rejection)
		return
	}
	x.w.Header().Set("Anthropic-Organization-Id", x.account.Organization)
	if x.r.Header.Get("Anthropic-Version") == "" {
		x.invalid("anthropic-version: header is required")
		return
	}
	e.serve(x)
}

// injectFault applies the fault that hits the request and reports whether that was the response. An account's faults hit only
// authenticated requests.
func (x *exchange) injectFault(authenticated bool) bool {
	path := x.r.URL.EscapedPath()
	x.p.mu.Lock()
	f, hit := take(&x.p.globalFaults, path, x.prompt.Model)
	if !hit && authenticated && x.account != nil {
		f, hit = take(&x.account.faults, path, x.prompt.Model)
	}
	x.p.mu.Unlock()
	if !hit {
		return false
	}
	x.fault = f
	if !x.wait(f.delay) {
		return true
	}
	if f.respond == nil {
		return false
	}
	f.respond(x)
	return true
}

// wait waits for d on the provider's clock. It reports false if the client went away.
func (x *exchange) wait(d time.Duration) bool {
	return d <= 0 || x.p.config.Clock.Sleep(x.r.Context(), d) == nil
}

// limitHeaders writes the account's limits.
func (x *exchange) limitHeaders() {
	if x.account != nil {
		x.writeLimits(x.p.Limits(x.account.Name))
	}
}

func (x *exchange) writeLimits(l messages.RateLimit) {
	h := x.w.Header()
	l.WriteTo(h)
	if reset := l.Windows[messages.FiveHour].Reset; reset != 0 {
		h.Set("Anthropic-Ratelimit-Unified-Reset", strconv.FormatInt(reset, 10))
		h.Set("Anthropic-Ratelimit-Unified-Fallback-Percentage", "0.5")
	}
}

// reject sends the 429 of the windows, with the time until the last of them resets in retry-after. Without windows only the
// aggregate is rejected.
func (x *exchange) reject(windows ...messages.Window) {
	retryAfter := ""
	if x.account != nil {
		limits := x.p.Limits(x.account.Name)
		var until int64
		for i := range limits.Windows {
			l := &limits.Windows[i]
			switch w := messages.Window(i); {
			case len(windows) == 0:
				l.Status = ""
				until = limits.Windows[messages.FiveHour].Reset
			case slices.Contains(windows, w):
				l.Status, l.Utilization = rejected, max(l.Utilization, 1)
				until = max(until, l.Reset)
			default:
				l.Status = notRejected(l.Status)
			}
		}
		limits.Status = rejected
		x.writeLimits(limits)
		retryAfter = strconv.FormatInt(max(1, until-x.p.config.Clock.Now().Unix()), 10)
	}
	x.fail(failure{http.StatusTooManyRequests, messages.TypeRateLimit, rateLimitMessage, retryAfter})
}

func (x *exchange) invalid(message string) {
	x.fail(failure{http.StatusBadRequest, messages.TypeInvalidRequest, message, ""})
}

func (x *exchange) fail(f failure) {
	h := x.w.Header()
	if x.fault.retryAfter != nil {
		f.retryAfter = *x.fault.retryAfter
	}
	if f.retryAfter != "" {
		h.Set("Retry-After", f.retryAfter)
	}
	h.Set("X-Should-Retry", strconv.FormatBool(f.status == http.StatusTooManyRequests || f.status >= 500))
	x.send(f.status, "application/json", messages.AppendError(nil, f.kind, f.message, x.id))
}

func (x *exchange) json(status int, v any) {
	x.send(status, "application/json", engine.JSON(v))
}

// send sends a whole response in one write.
func (x *exchange) send(status int, contentType string, data []byte) {
	h := x.w.Header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if coding := x.coding(); coding != "" && len(data) > 0 {
		h.Set("Content-Encoding", coding)
		h.Add("Vary", "Accept-Encoding")
		data = engine.Encode(coding, data)
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	x.header(status)
	if _, err := x.w.Write(data); err == nil {
		x.outcome = Complete
	}
}

func (x *exchange) header(status int) {
	x.status = status
	x.w.WriteHeader(status)
}

// coding returns the content coding of the response, or "".
func (x *exchange) coding() string {
	if x.fault.encoding != "" {
		return x.fault.encoding
	}
	return engine.Negotiate(strings.Join(x.r.Header.Values("Accept-Encoding"), ","), x.p.config.Encodings)
}

// reset aborts the connection: with a reset on TCP, otherwise by closing it.
func (x *exchange) reset() {
	x.outcome = Aborted
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if this fails, an orderly close aborts the response too
	}
	_ = conn.Close()
}
