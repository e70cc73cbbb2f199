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
)

// maxBody is the largest request body in bytes.
const maxBody = 32 << 20

const rateLimitMessage = "This request would exceed your account's rate limit. Please try again later."

// exchange is one request and its answer.
type exchange struct {
	p         *Provider
	w         http.ResponseWriter
	r         *http.Request
	body      []byte
	prompt    prompt
	malformed error // why prompt could not be read

	seq     int64  // of the record
	id      string // of the request, as its answer tells
	account *account
	scope   string
	active  Fault // the fault that hits the request
	code    int   // the status that was sent
	outcome Outcome
	tokens  Tokens

	refreshed bool // it has rotated the account's tokens
}

// failure is an answer in the error envelope.
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

// ServeHTTP answers one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	x := &exchange{p: p, w: w, r: r, body: body}
	path := r.URL.EscapedPath()
	if inference := path == MessagesPath || path == CountTokensPath; inference && len(body) <= maxBody {
		x.malformed = json.Unmarshal(body, &x.prompt)
	}
	x.arrive()
	defer x.leave()
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
	case path == TokenPath || path == AuthorizePath: // who asks has no token yet
		e.serve(x)
		return
	}

	var refusal *failure
	x.account, x.scope, refusal = x.p.authenticate(x.r.Header)
	if x.misbehave(refusal == nil) {
		return
	}
	if refusal != nil {
		x.fail(*refusal)
		return
	}
	x.w.Header().Set("Anthropic-Organization-Id", x.account.Organization)
	if x.r.Header.Get("Anthropic-Version") == "" {
		x.invalid("anthropic-version: header is required")
		return
	}
	e.serve(x)
}

// misbehave applies the fault that hits the request, and reports whether that was its answer. Faults of an account hit
// only requests that may use it.
func (x *exchange) misbehave(admitted bool) bool {
	path := x.r.URL.EscapedPath()
	x.p.mu.Lock()
	f, hit := take(&x.p.anywhere, path, x.prompt.Model)
	if !hit && admitted && x.account != nil {
		f, hit = take(&x.account.faults, path, x.prompt.Model)
	}
	x.p.mu.Unlock()
	if !hit {
		return false
	}
	x.active = f
	if !x.wait(f.delay) {
		return true
	}
	if f.answer == nil {
		return false
	}
	f.answer(x)
	return true
}

// wait lets d pass on the provider's clock; false means that the client has gone away.
func (x *exchange) wait(d time.Duration) bool {
	return d <= 0 || x.p.config.Clock.Sleep(x.r.Context(), d) == nil
}

// limitHeaders tells how the account stands, whatever becomes of the request.
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

// reject is the 429 of full windows, and retry-after the time until the last of them resets. Without a window the
// aggregate alone is rejected.
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
				l.Status = lenient(l.Status)
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
	if x.active.retryAfter != nil {
		f.retryAfter = *x.active.retryAfter
	}
	if f.retryAfter != "" {
		h.Set("Retry-After", f.retryAfter)
	}
	h.Set("X-Should-Retry", strconv.FormatBool(f.status == http.StatusTooManyRequests || f.status >= 500))
	x.send(f.status, "application/json", messages.AppendError(nil, f.kind, f.message, x.id))
}

func (x *exchange) json(status int, v any) {
	x.send(status, "application/json", mustJSON(v))
}

// send is a whole answer in one write.
func (x *exchange) send(status int, contentType string, data []byte) {
	h := x.w.Header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if coding := x.coding(); coding != "" && len(data) > 0 {
		h.Set("Content-Encoding", coding)
		h.Add("Vary", "Accept-Encoding")
		data = encode(coding, data)
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	x.header(status)
	if _, err := x.w.Write(data); err == nil {
		x.outcome = Complete
	}
}

func (x *exchange) header(status int) {
	x.code = status
	x.w.WriteHeader(status)
}

// coding is the content coding of the answer, empty for none.
func (x *exchange) coding() string {
	if x.active.encoding != "" {
		return x.active.encoding
	}
	return negotiate(strings.Join(x.r.Header.Values("Accept-Encoding"), ","), x.p.config.Encodings)
}

// reset breaks the connection, on TCP with a reset instead of an orderly end.
func (x *exchange) reset() {
	x.outcome = Broken
	conn, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the close is orderly, which breaks the answer too
	}
	_ = conn.Close()
}
