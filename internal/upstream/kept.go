package upstream

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"shunt/internal/family"
	"shunt/internal/http1"
	"shunt/internal/quota"
	"shunt/internal/relay"
	"shunt/internal/wire"
)

const (
	keptLimit   = 1 << 20         // of a response that is kept in case it is the last, in bytes (FO-8)
	peekLimit   = 64 << 10        // of a 403 that is looked into, in bytes
	drainBudget = 2 * time.Second // for the rest of a response nobody waits for (FO-14)
)

// kept is an upstream's response, out of the connection and ready to be relayed.
type kept struct {
	status int
	stands int // the status that it counts as: another than its own for a stream that is refused (FO-11)
	class  family.Class
	family *family.Family // whose upstream sent it
	header http.Header
	body   []byte
	cut    bool // the body ended early, or took too long
}

// keep reads a response to its end, or as far as limit and patience allow, and closes it.
func keep(f *family.Family, response *http1.Response) *kept {
	return keepRefused(f, response, nil, response.Status)
}

// keepRefused keeps a stream of which the head was already read and counts as a status of another kind.
func keepRefused(f *family.Family, response *http1.Response, head []byte, stands int) *kept {
	stop := time.AfterFunc(drainBudget, func() { response.Body.Close() })
	defer stop.Stop()
	defer response.Body.Close()
	rest, err := io.ReadAll(io.LimitReader(response.Body, int64(keptLimit-len(head))))
	return &kept{
		status: response.Status, stands: stands, header: response.Header, family: f,
		body: append(head[:len(head):len(head)], rest...), cut: err != nil,
	}
}

// cutShort is the end of a body that is not whole.
type cutShort struct{}

// Read implements [io.Reader].
func (cutShort) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// answer is the response as one to relay. One that was cut ends as such for the client, too.
func (k *kept) answer() relay.Response {
	if k.cut {
		body := io.MultiReader(bytes.NewReader(k.body), cutShort{})
		return relay.Response{Status: k.status, Header: k.header, Body: io.NopCloser(body), Length: -1}
	}
	return relay.Response{Status: k.status, Header: k.header, Body: io.NopCloser(bytes.NewReader(k.body)), Length: int64(len(k.body))}
}

// recovery returns how long, according to a 429, it takes until its sender serves again: its retry-after, or else the time
// until the last reset of the windows that reject.
func (k *kept) recovery(now time.Time) (wait time.Duration, known bool) {
	if after, ok := wire.RetryAfter(k.header, now); ok {
		return after, true
	}
	signal := k.family.Quota(k.header)
	rejected := signal.Rejected()
	for w := range signal.Windows {
		if reset := signal.Windows[w].Reset; rejected.Has(quota.Window(w)) && !reset.IsZero() {
			wait, known = max(wait, reset.Sub(now)), true
		}
	}
	return wait, known
}

// peek reads the beginning of a response's body, as far as limit and patience allow, and puts it back.
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

// decoded returns what a body says, as far as its beginning tells (WIRE-10). An unknown encoding says nothing.
func decoded(h http.Header, body []byte) []byte {
	var r io.Reader = bytes.NewReader(body)
	switch strings.ToLower(strings.TrimSpace(h.Get("Content-Encoding"))) {
	case "", "identity":
		return body
	case "gzip":
		gz, err := gzip.NewReader(r)
		if err != nil {
			return nil
		}
		r = gz
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		zs, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(8<<20))
		if err != nil {
			return nil
		}
		defer zs.Close()
		r = zs
	default:
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(r, peekLimit))
	return text
}
