package engine

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Encoder writes a content coding. Flush makes everything written so far readable.
type Encoder interface {
	io.WriteCloser
	Flush() error
}

// NewEncoder returns an encoder for the content coding (gzip, br, zstd) without goroutines of its own. It panics if it does not
// know the coding.
func NewEncoder(coding string, w io.Writer) Encoder {
	switch coding {
	case "gzip":
		return gzip.NewWriter(w)
	case "br":
		return brotli.NewWriterLevel(w, brotli.BestSpeed)
	case "zstd":
		e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // no goroutines
		if err != nil {
			panic(fmt.Sprintf("engine: zstd: %v", err))
		}
		return e
	}
	panic(fmt.Sprintf("engine: unknown content coding %q", coding))
}

// Encode returns the data in the content coding.
func Encode(coding string, data []byte) []byte {
	var b bytes.Buffer
	e := NewEncoder(coding, &b)
	_, _ = e.Write(data) // writes to a bytes.Buffer do not fail
	_ = e.Close()
	return b.Bytes()
}

// Decoder returns a reader that undoes a content coding; the empty coding and identity change nothing. The caller closes it.
func Decoder(coding string, r io.Reader) (io.ReadCloser, error) {
	switch coding {
	case "", "identity":
		return io.NopCloser(r), nil
	case "gzip":
		return gzip.NewReader(r)
	case "br":
		return io.NopCloser(brotli.NewReader(r)), nil
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("unknown content coding %q", coding)
}

// Negotiate returns the first of the offered codings that accept-encoding allows, or "".
func Negotiate(accept string, offered []string) string {
	weights := map[string]float64{}
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(parameters), "q="); ok {
			if v, err := strconv.ParseFloat(q, 64); err == nil {
				weight = v
			}
		}
		weights[strings.ToLower(strings.TrimSpace(name))] = weight
	}
	for _, coding := range offered {
		weight, named := weights[coding]
		if !named {
			weight = weights["*"]
		}
		if weight > 0 {
			return coding
		}
	}
	return ""
}
