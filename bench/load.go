package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// connection speaks just enough HTTP to cost next to nothing beside what is measured.
type connection struct {
	net.Conn
	answers *bufio.Reader
}

func dial(ctx context.Context, addr string) (*connection, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &connection{c, bufio.NewReaderSize(c, 4<<10)}, nil
}

// request is everything that goes over the wire for one request, and the length of the answer's body.
type exchange struct {
	head, body []byte
	answer     int64
}

func newExchange(body []byte, extra string, answer int64) exchange {
	head := fmt.Sprintf("POST /v1/messages?beta=true HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"+
		"authorization: Bearer client\r\nuser-agent: claude-cli/2.1.197 (external, sdk-cli)\r\nx-app: cli\r\naccept: application/json\r\n"+
		"accept-encoding: gzip, deflate, br, zstd\r\nanthropic-version: 2023-06-01\r\nanthropic-beta: claude-code-20250219,interleaved-thinking-2025-05-14\r\n"+
		"x-stainless-lang: js\r\nx-stainless-os: Linux\r\nx-stainless-runtime: node\r\nx-stainless-timeout: 600\r\nx-stainless-retry-count: 0\r\n"+
		"x-claude-code-session-id: 0b0e9f9c-54a5-4bb5-8c85-6cf2a3b2f7d5\r\n%s\r\n", len(body), extra)
	return exchange{[]byte(head), body, answer}
}

var errAnswer = errors.New("not the expected answer")

// do sends one request and reads the whole answer.
func (c *connection) do(e exchange) (firstByte time.Time, err error) {
	parts := net.Buffers{e.head, e.body}
	if _, err := parts.WriteTo(c.Conn); err != nil {
		return firstByte, err
	}
	answer, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return firstByte, err
	}
	firstByte = time.Now()
	n, err := io.Copy(io.Discard, answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || n != e.answer) {
		err = fmt.Errorf("%w: status %d, %d bytes", errAnswer, answer.StatusCode, n)
	}
	return firstByte, err
}

// requests sends one request after the other on each of a number of connections, until the time is up. It returns the
// time that each took.
func requests(ctx context.Context, addr string, workers int, length time.Duration, e exchange) ([]time.Duration, error) {
	var (
		wg     sync.WaitGroup
		took   = make([][]time.Duration, workers)
		errs   = make([]error, workers)
		finish = time.Now().Add(length)
	)
	for i := range workers {
		wg.Go(func() {
			c, err := dial(ctx, addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close()
			for start := time.Now(); start.Before(finish) && ctx.Err() == nil; {
				if _, err := c.do(e); err != nil {
					errs[i] = err
					return
				}
				end := time.Now()
				took[i] = append(took[i], end.Sub(start))
				start = end
			}
		})
	}
	wg.Wait()
	return slices.Concat(took...), errors.Join(append(errs, ctx.Err())...)
}

// streams opens n streams over the ramp and reads them to their end. It returns the times to the first byte, and the
// number of streams that were lost with one of their errors.
func streams(ctx context.Context, addr string, n int, ramp time.Duration, e exchange) (firstBytes []time.Duration, lost int, why error) {
	var (
		wg      sync.WaitGroup
		took    = make([]time.Duration, n)
		failed  atomic.Int64
		example atomic.Pointer[error]
	)
	for i := range n {
		wg.Go(func() {
			time.Sleep(ramp * time.Duration(i) / time.Duration(n))
			start := time.Now()
			firstByte, err := stream(ctx, addr, e)
			if err != nil {
				failed.Add(1)
				example.Store(&err)
				return
			}
			took[i] = firstByte.Sub(start)
		})
	}
	wg.Wait()
	if err := example.Load(); err != nil {
		why = *err
	}
	return slices.DeleteFunc(took, func(d time.Duration) bool { return d == 0 }), int(failed.Load()), why
}

func stream(ctx context.Context, addr string, e exchange) (time.Time, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return time.Time{}, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	return c.do(e)
}
