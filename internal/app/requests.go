package app

import (
	"sync"

	"shunt/internal/observe"
)

// requestLog is the request log that the configuration names, if any. A reload may replace it.
type requestLog struct {
	mu   sync.RWMutex // held during each write, so that a log that is being closed receives none
	log  *observe.RequestLog
	path string
	old  int64 // lines lost by logs that were closed
}

// lost returns the number of lines that could not be written since the start.
func (l *requestLog) lost() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.log == nil {
		return l.old
	}
	return l.old + l.log.Lost()
}

func (l *requestLog) write(r *observe.Record) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.log != nil {
		l.log.Write(r)
	}
}

// open changes the file to the one at path, or to none if path is empty. It opens a file that is in use already again, as log
// rotation requires. On an error nothing changes.
func (l *requestLog) open(path string, health *observe.Health) error {
	if l.log != nil && path == l.path {
		return l.log.Reopen()
	}
	var next *observe.RequestLog
	if path != "" {
		var err error
		if next, err = observe.OpenRequestLog(path, health); err != nil {
			return err
		}
	}
	l.mu.Lock()
	last := l.log
	l.log, l.path = next, path
	if last == nil {
		l.mu.Unlock()
		return nil
	}
	lost := last.Lost()
	l.old += lost
	l.mu.Unlock()
	err := last.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.old += last.Lost() - lost
	return err
}

func (l *requestLog) close() error { return l.open("", nil) }
