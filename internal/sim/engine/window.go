package engine

import "time"

// Window is an account's quota window, which fills by tokens and resets. A provider's lock guards it.
type Window struct {
	Length time.Duration
	Size   int64   // tokens
	Used   float64 // tokens; may exceed Size
	Resets time.Time
	Off    bool // not reported and never full
}

// WindowAt returns a window filled to the fraction, whose first reset is in the given time, or after its length if that is 0.
func WindowAt(now time.Time, length time.Duration, size int64, fill float64, resetIn time.Duration) Window {
	if resetIn == 0 {
		resetIn = length
	}
	return Window{
		Length: length,
		Size:   size,
		Used:   fill * float64(size),
		Resets: now.Add(resetIn + time.Second - 1).Truncate(time.Second), // headers have whole seconds
	}
}

// Utilization returns the used fraction; it may exceed 1.
func (w *Window) Utilization() float64 { return w.Used / float64(w.Size) }

// Full reports whether the window refuses requests.
func (w *Window) Full() bool { return !w.Off && w.Used >= float64(w.Size) }

// Expire empties the window if its reset time has passed.
func (w *Window) Expire(now time.Time) {
	if late := now.Sub(w.Resets); late >= 0 {
		w.Used = 0
		w.Resets = w.Resets.Add(w.Length * (late/w.Length + 1))
	}
}
