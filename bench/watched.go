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

	watchedInFlight = 16
)

// measureWatched compares the processor time per request with and without operators who watch the pages, in pairs
// of runs of one process, in alternating order.
func measureWatched(ctx context.Context, b *bench, name string) error {
	if b.isPeer() {
		return nil
	}
	k := kind{body: requestBody(2_000, true), response: response{stream: true}}
	b.up.response.Store(&k.response)
	p, err := b.programs[1].start(ctx)
	if err != nil {
		return err
	}
	defer p.stop()
	l, err := openLoad(ctx, p.endpoint, k, watchedInFlight)
	if err != nil {
		return p.blame(err)
	}
	defer l.close()
	var cost [2][]float64 // unwatched, watched
	err = alternate(watchPairs, func(pair, i int) error {
		end := func() error { return nil }
		if i == 1 {
			if end, err = watch(ctx, p.addr); err != nil {
				return p.blame(err)
			}
		}
		used, n, err := b.sample(ctx, p, l)
		if ended := end(); err == nil {
			err = ended
		}
		if err != nil {
			return p.blame(err)
		}
		cost[i] = append(cost[i], used/float64(n))
		b.progress("%s, pair %d, %s: %.1f µs of CPU per request", name, pair+1, [...]string{"unwatched", "watched"}[i], used/float64(n)*1e6)
		return nil
	})
	if err != nil {
		return err
	}
	all := ratios(cost[1], cost[0])
	b.report.note(fmt.Sprintf("Watched: with %d open pages and a scrape of the metrics each second, CPU per request (2 kB stream, %d in flight) is %.3f times that without, from %.3f to %.3f over %d pairs.",
		openPages, watchedInFlight, median(all), slices.Min(all), slices.Max(all), len(all)))
	return nil
}

// watch opens the pages and scrapes the metrics until end is called, which returns an error if nothing was seen.
func watch(ctx context.Context, addr string) (end func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	client := &http.Client{Transport: &http.Transport{}}
	fetch := func(path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("X-Shunt-Admin-Token", adminToken)
		response, err := client.Do(r)
		if err == nil && response.StatusCode != http.StatusOK {
			response.Body.Close()
			err = fmt.Errorf("%s: %s", path, response.Status)
		}
		return response, err
	}
	var running sync.WaitGroup
	var seen, scrapes atomic.Int64
	for range openPages {
		page, err := fetch("/admin/live")
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
			if page, err := fetch("/metrics"); err == nil {
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
			return fmt.Errorf("nothing was watched: %d events of pages, %d scrapes", seen.Load(), scrapes.Load())
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
