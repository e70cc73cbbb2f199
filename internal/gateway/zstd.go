package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"shunt/internal/dialect"
	"shunt/internal/upstream"
)

// maxDecompressed is the largest body that a compressed one may become, in bytes (GPT-10).
const maxDecompressed = 64 << 20

// expanded is about how many times as long a body is when it is not compressed: so much is reserved at first.
const expanded = 4

// errZstd is the error of a body that is not what its content-encoding says.
var errZstd = errors.New("the body is not valid zstd")

// isCompressed reports whether a request's body is compressed with zstd, which some endpoints accept (GPT-10).
func (g *Gateway) isCompressed(r *http.Request) (bool, *upstream.Failure) {
	var codings []string
	for _, line := range r.Header["Content-Encoding"] {
		for coding := range strings.SplitSeq(line, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				codings = append(codings, strings.ToLower(coding))
			}
		}
	}
	switch accepts := g.endpoints[r.URL.EscapedPath()].zstd; {
	case len(codings) == 0:
		return false, nil
	case accepts && slices.Equal(codings, []string{"zstd"}):
		return true, nil
	case accepts:
		return false, fail(http.StatusUnsupportedMediaType, dialect.InvalidRequest,
			"this endpoint reads request bodies that are compressed with zstd or not at all: send the body in one of these forms")
	}
	return false, fail(http.StatusUnsupportedMediaType, dialect.InvalidRequest,
		"compressed request bodies cannot be routed: send the body without content-encoding")
}

// decoders are idle readers of compressed texts. They have no goroutines.
var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecompressed), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		panic(err) // the options are valid
	}
	return d
}}

// withZstd calls read with a reader of a compressed text.
func withZstd(r io.Reader, read func(io.Reader) error) error {
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	err := d.Reset(r)
	if err == nil {
		err = read(d)
	}
	_ = d.Reset(nil) // only lets go of r
	return err
}

// decompress returns a copy of a compressed body, of at most limit bytes.
func decompress(body []byte, limit int64) (*upstream.Body, error) {
	var plain *upstream.Body
	most := min(limit, maxDecompressed)
	err := withZstd(bytes.NewReader(body), func(r io.Reader) (err error) {
		plain, err = upstream.ReadBody(r, min(expanded*int64(len(body)), most), most)
		return err
	})
	if err != nil && !errors.Is(err, upstream.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", errZstd, err)
	}
	return plain, err
}

// leadingModelOf is [leadingModel] for a compressed body. The head is what was read of it.
func leadingModelOf(d dialect.Inbound, body io.Reader) (head []byte, model string, err error) {
	var read bytes.Buffer
	err = withZstd(io.TeeReader(io.LimitReader(body, headLimit), &read), func(plain io.Reader) (err error) {
		_, model, err = leadingModel(d, plain)
		return err
	})
	if err != nil && err != io.EOF {
		return nil, "", fmt.Errorf("%w: %w", errZstd, err)
	}
	return read.Bytes(), model, err
}
