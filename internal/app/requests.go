package app

import (
	"sync"

	"shunt/internal/observe"
)

// requestLog is the request log that the configuration names, if it names one: after a reload it may be another.
type requestLog struct {
	mu   sync.RWMutex // held while a record is handed over, so that a log that is being closed gets none
	log  *observe.RequestLog
	path string
	gone int64 // lines lost by logs that were closed
}

// lost is how many lines could not be written since the start.
func (l *requestLog) lost() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.log == nil {
		return l.gone
	}
	return l.gone + l.log.Lost()
}

func (l *requestLog) write(r *observe.Record) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.log != nil {
		l.log.Write(r)
	}
}

// open has records written to the file at path from now on, or to none where that is empty. The file that is in use
// already is opened anew, as log rotation needs it. On an error everything stays as it was.
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
	l.gone += lost
	l.mu.Unlock()
	err := last.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone += last.Lost() - lost
	return err
}

func (l *requestLog) close() error { return l.open("", nil) }
