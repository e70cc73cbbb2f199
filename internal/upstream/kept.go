package upstream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"shunt/internal/dialect"
	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/relay"
	"shunt/internal/wire"
)

const (
	keptLimit   = 1 << 20         // bytes of a response that are kept in case it is the last one (FO-8)
	peekLimit   = 64 << 10        // bytes of a body that are read to classify its response
	drainBudget = 2 * time.Second // for reading the rest of a response that is not relayed (FO-14)
)

// kept is an upstream's response that has been read and can be relayed later.
type kept struct {
	status          int
	effectiveStatus int // the status that it counts as: another than its own for a stream that is refused (FO-11)
	class           family.Class
	cooldown        time.Duration  // that the response demands, of a quota rejection; 0: see recovery
	failure         *dialect.Error // that a refused stream began with
	family          *family.Family // whose upstream sent it
	header          http.Header
	body            []byte
	truncated       bool // the body ended early, or took too long
}

// keep reads a response to its end, or up to keptLimit and for drainBudget, and closes it.
func keep(f *family.Family, response *http1.Response) *kept {
	return keepRefused(f, response, nil, response.Status)
}

// keepRefused keeps a stream whose head was already read, and which counts as a response of another status.
func keepRefused(f *family.Family, response *http1.Response, head []byte, effectiveStatus int) *kept {
	stop := time.AfterFunc(drainBudget, func() { response.Body.Close() })
	defer stop.Stop()
	defer response.Body.Close()
	rest, err := io.ReadAll(io.LimitReader(response.Body, int64(keptLimit-len(head))))
	return &kept{
		status: response.Status, effectiveStatus: effectiveStatus, header: response.Header, family: f,
		body: append(head[:len(head):len(head)], rest...), truncated: err != nil,
	}
}

// truncation is the end of a body that is not complete.
type truncation struct{}

// Read implements [io.Reader].
func (truncation) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// response returns the response for the relay. If it was truncated, it is truncated for the client, too.
func (k *kept) response() relay.Response {
	if k.truncated {
		body := io.MultiReader(bytes.NewReader(k.body), truncation{})
		return relay.Response{Status: k.status, Header: k.header, Body: io.NopCloser(body), Length: -1}
	}
	return relay.Response{Status: k.status, Header: k.header, Body: io.NopCloser(bytes.NewReader(k.body)), Length: int64(len(k.body))}
}

// recovery returns how long, according to a 429, it takes until its sender serves again: what its body says, its retry-after,
// or else the time until the last reset of the windows that reject.
func (k *kept) recovery(now time.Time) (wait time.Duration, known bool) {
	if k.cooldown > 0 {
		return k.cooldown, true
	}
	if after, ok := wire.RetryAfter(k.header, now); ok {
		return after, true
	}
	signal := k.family.ReadQuota(k.header)
	rejected := signal.Rejected()
	for w := range signal.Windows {
		if reset := signal.Windows[w].ResetAt(now); rejected.Has(w) && !reset.IsZero() {
			wait, known = max(wait, reset.Sub(now)), true
		}
	}
	return wait, known
}

// peek returns the beginning of a response's body, up to peekLimit and for at most drainBudget, and leaves the body unread.
func peek(response *http1.Response) []byte {
	body := response.Body
	stop := time.AfterFunc(drainBudget, func() { body.Close() })
	defer stop.Stop()
	head, _ := io.ReadAll(io.LimitReader(body, peekLimit))
	response.Body = &struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), body), body}
	return head
}

// decoded returns the text of a body's beginning (WIRE-10), or nil if its encoding is unknown.
func decoded(h http.Header, body []byte) []byte {
	r, err := decoder(h, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil
	}
	defer r.Close()
	text, _ := io.ReadAll(io.LimitReader(r, peekLimit))
	return text
}

var errEncoding = errors.New("the body has an unknown encoding")

// decoder returns a body without its encoding (WIRE-10). Closing it closes the body.
func decoder(h http.Header, body io.ReadCloser) (io.ReadCloser, error) {
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))) {
	case "", "identity":
		return body, nil
	case "gzip":
		gz, err := gzip.NewReader(body)
		return decodedBody{gz, body.Close}, err
	case "br":
		return decodedBody{brotli.NewReader(body), body.Close}, nil
	case "zstd":
		zs, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(8<<20))
		return decodedBody{zs, func() error { zs.Close(); return body.Close() }}, err
	}
	return nil, errEncoding
}

type decodedBody struct {
	io.Reader
	close func() error
}

// Close implements [io.Closer].
func (b decodedBody) Close() error { return b.close() }
