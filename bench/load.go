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
	"time"
)

// timeout is how long a response may take before the measurement fails.
const timeout = 30 * time.Second

var errResponse = errors.New("not the expected response")

// connection implements just enough HTTP to cost almost nothing compared with what is measured.
type connection struct {
	net.Conn
	reader *bufio.Reader
	part   [4 << 10]byte
	end    [64]byte // the last bytes of the response
}

func dial(ctx context.Context, addr string) (*connection, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, reader: bufio.NewReaderSize(c, 4<<10)}, nil
}

// do sends one request and reads the whole response. It returns the time of the response's first byte.
func (c *connection) do(e *exchange) (firstByte time.Time, err error) {
	parts := net.Buffers{e.head, e.body, e.rest}
	if _, err := parts.WriteTo(c.Conn); err != nil {
		return firstByte, err
	}
	if _, err := c.reader.Peek(1); err != nil {
		return firstByte, err
	}
	firstByte = time.Now()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return firstByte, err
	}
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, 300)) // as far as it can be read
		return firstByte, fmt.Errorf("%w: status %d: %s", errResponse, response.StatusCode, why)
	}
	n, err := c.drain(response.Body)
	if err != nil {
		return firstByte, err
	}
	return firstByte, e.judge(response, n, c.end[:])
}

// drain reads to the end and stores the last bytes.
func (c *connection) drain(r io.Reader) (total int64, err error) {
	clear(c.end[:])
	for {
		n, err := r.Read(c.part[:])
		total += int64(n)
		keep := min(n, len(c.end))
		copy(c.end[:], c.end[keep:])
		copy(c.end[len(c.end)-keep:], c.part[n-keep:n])
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// load is a number of open connections, each with its own session that sends one request after another.
type load struct {
	connections []*connection
	exchanges   []exchange
}

// openLoad opens the connections and sends requests until everything is open and warm.
func openLoad(ctx context.Context, to endpoint, k kind, inFlight int) (*load, error) {
	l := &load{exchanges: exchanges(to, k, inFlight)}
	for range inFlight {
		c, err := dial(ctx, to.addr)
		if err != nil {
			l.close()
			return nil, err
		}
		l.connections = append(l.connections, c)
	}
	if _, err := l.run(ctx, warmUp); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *load) close() {
	for _, c := range l.connections {
		c.Close()
	}
}

// run sends requests for some time. It returns the time to the first byte of each response.
func (l *load) run(ctx context.Context, length time.Duration) ([]time.Duration, error) {
	var (
		wg     sync.WaitGroup
		took   = make([][]time.Duration, len(l.connections))
		errs   = make([]error, len(l.connections))
		finish = time.Now().Add(length)
	)
	defer context.AfterFunc(ctx, l.close)()
	for i, c := range l.connections {
		wg.Go(func() {
			if errs[i] = c.SetDeadline(finish.Add(timeout)); errs[i] != nil {
				return
			}
			for start := time.Now(); start.Before(finish); start = time.Now() {
				firstByte, err := c.do(&l.exchanges[i])
				if err != nil {
					errs[i] = err
					return
				}
				took[i] = append(took[i], firstByte.Sub(start))
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.Concat(took...), firstOf(errs)
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// streams sends each exchange on its own connection, spread over the ramp. It returns how many responses were lost,
// and the error of one of them. Each must arrive within some time from the beginning of its request.
func streams(ctx context.Context, addr string, ramp, within time.Duration, all []exchange) (lost int, why error) {
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i := range all {
		wg.Go(func() {
			select {
			case <-time.After(ramp * time.Duration(i) / time.Duration(len(all))):
				errs[i] = stream(ctx, addr, within, &all[i])
			case <-ctx.Done():
				errs[i] = ctx.Err()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			lost, why = lost+1, err
		}
	}
	return lost, why
}

func stream(ctx context.Context, addr string, within time.Duration, e *exchange) error {
	c, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	_, err = c.do(e)
	return err
}
