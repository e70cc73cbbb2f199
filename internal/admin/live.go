package admin

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"
)

// live updates the open pages. One goroutine renders their events once a second while any page is open, and every page gets
// the same bytes. A slow page misses intermediate states, but never the latest.
type live struct {
	mu    sync.Mutex
	pages map[chan struct{}]struct{}
	last  []byte // the newest events, complete
	ended bool
}

const renderEvery = time.Second

func (l *live) run(ctx context.Context, a *Admin) {
	samples, renders := time.NewTicker(a.Clock.Scale(sampleEvery)), time.NewTicker(renderEvery)
	defer samples.Stop()
	defer renders.Stop()
	a.history.add(a.Clock.Now(), a.pools())
	for {
		select {
		case <-ctx.Done():
			l.end()
			return
		case <-samples.C:
			a.history.add(a.Clock.Now(), a.pools())
		case <-renders.C:
			a.attempts.flush()
			if l.watched() {
				l.publish(a.events())
			}
		}
	}
}

func (l *live) watched() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pages) > 0
}

func (l *live) publish(events []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Equal(events, l.last) {
		return
	}
	l.last = events
	for page := range l.pages {
		select {
		case page <- struct{}{}:
		default:
		}
	}
}

func (l *live) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for page := range l.pages {
		close(page)
	}
	l.pages = nil
}

// join adds a page. The channel reports new events; it is closed when there will be none.
func (l *live) join() (news chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || len(l.pages) >= maxPages {
		return nil, false
	}
	if l.pages == nil {
		l.pages = map[chan struct{}]struct{}{}
	}
	news = make(chan struct{}, 1)
	l.pages[news] = struct{}{}
	return news, true
}

func (l *live) leave(news chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, news)
}

func (l *live) newest() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

const (
	maxPages     = 1000
	keepAlive    = 15 * time.Second
	writeTimeout = 30 * time.Second
)

// stream serves the events of a page until the browser disconnects, its session ends or shunt stops.
func (a *Admin) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead { // its response has no body
		return
	}
	news, ok := a.live.join()
	if !ok {
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer a.live.leave(news)
	control := http.NewResponseController(w)
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for events := a.events(); ; {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(events); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case _, more := <-news:
			if !more {
				return
			}
			events = a.live.newest()
		case <-quiet.C:
			if a.keys.ofHeaders(r.Header) == none {
				if _, ok := a.sessions.of(r); !ok {
					events = []byte("event: over\ndata: \n\n")
					continue
				}
			}
			events = []byte(": quiet\n\n")
		}
	}
}

// events returns the current content of the parts of the page, one event for each.
func (a *Admin) events() []byte {
	var out bytes.Buffer
	for _, part := range a.parts() {
		out.WriteString("event: " + part.id + "\ndata: ")
		out.Write(encoded(part.html))
		out.WriteString("\n\n")
	}
	return out.Bytes()
}
