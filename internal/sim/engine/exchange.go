package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBody is the largest request body in bytes, before and after decoding.
const maxBody = 64 << 20

// Exchange is a request and its response.
type Exchange struct {
	*Base
	W    http.ResponseWriter
	R    *http.Request
	Path string // without the query, as it was escaped
	Raw  []byte // the body as it was sent
	Body []byte // the body without its content coding
	ID   string // of the request, for the response
	// BodyError tells why Body could not be read or decoded.
	BodyError error

	// Set by the provider once it knows them.
	Account   string
	Model     string
	Stream    bool
	Inference bool // faults without paths hit it
	// Charge, if not nil, is called with the number of generated tokens just before they are sent.
	Charge func(tokens int)

	seq     int64
	fault   Fault
	status  int // 0 before it is sent
	outcome Outcome
}

// Begin reads and records a request. Call Finish when it has ended.
func (b *Base) Begin(w http.ResponseWriter, r *http.Request) *Exchange {
	x := &Exchange{Base: b, W: w, R: r, Path: r.URL.EscapedPath()}
	x.Raw, x.BodyError = readAll(r.Body)
	x.Body = x.Raw
	if coding := r.Header.Get("Content-Encoding"); coding != "" && x.BodyError == nil {
		x.Body, x.BodyError = decode(coding, x.Raw)
	}
	record := Request{
		Received: b.Now(), Conn: r.RemoteAddr, Method: r.Method, Path: x.Path, Query: r.URL.RawQuery, Host: r.Host,
		Header: r.Header.Clone(), Raw: x.Raw, Body: x.Body,
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	x.seq = b.next
	b.next++
	record.Seq = x.seq
	x.ID = fmt.Sprintf("req_%s%06d", Hex(Rand(b.Seed, "request", fmt.Sprint(x.seq)), 8), x.seq)
	b.log[x.seq%int64(len(b.log))] = record
	return x
}

func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err == nil && len(data) > maxBody {
		err = errors.New("the body is too large")
	}
	return data, err
}

func decode(coding string, data []byte) ([]byte, error) {
	d, err := Decoder(coding, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return readAll(d)
}

// Finish completes the record of the request.
func (x *Exchange) Finish() {
	if x.outcome == Running {
		x.outcome = Aborted
		if x.R.Context().Err() != nil {
			x.outcome = Canceled
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	record := &x.log[x.seq%int64(len(x.log))]
	if record.Seq != x.seq {
		return // its slot holds a newer request
	}
	record.Account, record.Model, record.Stream = x.Account, x.Model, x.Stream
	record.Fault, record.Status, record.Outcome = x.fault.name, x.status, x.outcome
}

// InjectFault applies the fault that hits the request and reports whether that was the response. An account's faults hit only
// authenticated requests.
func (x *Exchange) InjectFault(authenticated bool) bool {
	x.mu.Lock()
	f, hit := x.take("", x)
	if !hit && authenticated && x.Account != "" {
		f, hit = x.take(x.Account, x)
	}
	x.mu.Unlock()
	if !hit {
		return false
	}
	x.fault = f
	if !x.Wait(f.delay) {
		return true
	}
	if f.respond == nil {
		return false
	}
	f.respond(x)
	return true
}

// Wait waits for d on the provider's clock. It reports false if the client went away.
func (x *Exchange) Wait(d time.Duration) bool {
	return d <= 0 || x.Clock.Sleep(x.R.Context(), d) == nil
}

// WaitLate waits before the response to a request that changed something. It reports false if the client went away.
func (x *Exchange) WaitLate() bool { return x.Wait(x.fault.lateReply) }

// JSON sends a value as a whole response.
func (x *Exchange) JSON(status int, v any) { x.Send(status, "application/json", JSON(v)) }

// Send sends a whole response in one write.
func (x *Exchange) Send(status int, contentType string, data []byte) {
	h := x.W.Header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	if coding := x.coding(); coding != "" && len(data) > 0 {
		h.Set("Content-Encoding", coding)
		h.Add("Vary", "Accept-Encoding")
		data = Encode(coding, data)
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	x.header(status)
	if _, err := x.W.Write(data); err == nil {
		x.outcome = Complete
	}
}

func (x *Exchange) header(status int) {
	if x.fault.retryAfter != nil {
		if *x.fault.retryAfter == "" {
			x.W.Header().Del("Retry-After")
		} else {
			x.W.Header().Set("Retry-After", *x.fault.retryAfter)
		}
	}
	x.status = status
	x.W.WriteHeader(status)
}

// coding returns the content coding of the response, or "".
func (x *Exchange) coding() string {
	if x.fault.encoding != "" {
		return x.fault.encoding
	}
	return Negotiate(strings.Join(x.R.Header.Values("Accept-Encoding"), ","), x.Encodings)
}

// Reset aborts the connection: with a reset on TCP, otherwise by closing it.
func (x *Exchange) Reset() {
	x.outcome = Aborted
	conn, _, err := http.NewResponseController(x.W).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // if this fails, an orderly close aborts the response too
	}
	_ = conn.Close()
}
