package sim

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

// encoder writes a content coding. Flush makes everything written so far readable.
type encoder interface {
	io.WriteCloser
	Flush() error
}

func newEncoder(coding string, w io.Writer) encoder {
	switch coding {
	case "gzip":
		return gzip.NewWriter(w)
	case "br":
		return brotli.NewWriterLevel(w, brotli.BestSpeed)
	case "zstd":
		e, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)) // no goroutines
		if err != nil {
			panic(fmt.Sprintf("sim: zstd: %v", err))
		}
		return e
	}
	panic(fmt.Sprintf("sim: unknown content coding %q", coding))
}

func encode(coding string, data []byte) []byte {
	var b bytes.Buffer
	e := newEncoder(coding, &b)
	_, _ = e.Write(data) // writes to a bytes.Buffer do not fail
	_ = e.Close()
	return b.Bytes()
}

// decoder returns a reader that undoes a content coding; the empty coding and identity change nothing. The caller closes it.
func decoder(coding string, r io.Reader) (io.ReadCloser, error) {
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

// negotiate returns the first of the offered codings that accept-encoding allows, or "".
func negotiate(accept string, offered []string) string {
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
