package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// live feeds the open pages. One goroutine renders what they show, once a second and only while somebody looks, and every
// page gets the same bytes; a page that does not keep up misses a state and not the last one.
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

// join begins to look; the channel tells of news, and is closed when there will be none.
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
	maxPages    = 1000
	keepAlive   = 15 * time.Second
	writeWithin = 30 * time.Second
)

// stream serves the page's events until the browser leaves, its session ends or shunt does.
func (a *Admin) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead { // which has no body to wait for
		return
	}
	news, ok := a.live.join()
	if !ok {
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
		return
	}
	defer a.live.leave(news)
	control := http.NewResponseController(w)
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for events := a.events(); ; {
		_ = control.SetWriteDeadline(time.Now().Add(writeWithin))
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
			if a.keys.presented(r.Header) == nobody {
				if _, ok := a.sessions.of(r); !ok {
					events = []byte("event: over\ndata: \n\n")
					continue
				}
			}
			events = []byte(": quiet\n\n")
		}
	}
}

// events are the page's changing parts as it shows them now, one event each.
func (a *Admin) events() []byte {
	var out bytes.Buffer
	for _, part := range a.parts() {
		data, err := json.Marshal(part.html)
		if err != nil {
			panic(err) // a string
		}
		out.WriteString("event: " + part.id + "\ndata: ")
		out.Write(data)
		out.WriteString("\n\n")
	}
	return out.Bytes()
}
