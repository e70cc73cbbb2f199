package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	adminToken  = "an-admin-token-for-the-benchmark"
	openPages   = 50
	scrapeEvery = time.Second
	watchPairs  = 7
)

// measureWatched compares the processor time of a request while operators look on with that while nobody does, in pairs
// of runs of one process, in alternating order.
func measureWatched(ctx context.Context, o options, t target) error {
	p, err := t.start(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	e := newExchange(requestBody(sizes[0].bytes), "", answerSize(8))
	var all []float64
	for pair := range watchPairs {
		var cpu [2]float64 // unwatched, watched
		for turn := range 2 {
			watched := (pair+turn)%2 == 1
			end := func() error { return nil }
			if watched {
				if end, err = watch(ctx, p.addr); err != nil {
					return err
				}
			}
			s, err := sampleRequests(ctx, p, o, e)
			if ended := end(); err == nil {
				err = ended
			}
			if err != nil {
				return fmt.Errorf("watched %v: %w", watched, p.blame(err))
			}
			if watched {
				cpu[1] = s[1]
			} else {
				cpu[0] = s[1]
			}
		}
		all = append(all, cpu[1]/cpu[0])
	}
	slices.Sort(all)
	fmt.Printf("CPU/request, watched to unwatched: median %.3fx of %d pairs, from %.3fx to %.3fx\n", all[len(all)/2], len(all), all[0], all[len(all)-1])
	return nil
}

// watch opens the pages and scrapes until it is ended, which fails if anybody could not look.
func watch(ctx context.Context, addr string) (end func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Transport: &http.Transport{}}
	ask := func(path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("X-Shunt-Admin-Token", adminToken)
		response, err := client.Do(r)
		if err == nil && response.StatusCode != http.StatusOK {
			response.Body.Close()
			err = fmt.Errorf("%s answers %s", path, response.Status)
		}
		return response, err
	}
	var running sync.WaitGroup
	var seen, scrapes atomic.Int64
	for range openPages {
		page, err := ask("/admin/live")
		if err != nil {
			cancel()
			running.Wait()
			return nil, err
		}
		running.Go(func() {
			defer page.Body.Close()
			_, _ = io.Copy(counter{&seen}, page.Body) // ends with the context
		})
	}
	running.Go(func() {
		tick := time.NewTicker(scrapeEvery)
		defer tick.Stop()
		for {
			if page, err := ask("/metrics"); err == nil {
				_, _ = io.Copy(io.Discard, page.Body)
				page.Body.Close()
				scrapes.Add(1)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() error {
		cancel()
		running.Wait()
		client.CloseIdleConnections()
		if seen.Load() == 0 || scrapes.Load() == 0 {
			return fmt.Errorf("nobody looked: %d events of pages, %d scrapes", seen.Load(), scrapes.Load())
		}
		return nil
	}, nil
}

// counter counts the events that are written to it.
type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(bytes.Count(p, []byte("\n\n"))))
	return len(p), nil
}
