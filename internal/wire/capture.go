package wire

import "bytes"

// Capture finds the value of one member of a JSON document as the bytes of the document pass. It skips strings, holds at most
// Limit bytes of the value, never fails, and ignores what it cannot read. The division of the document into chunks makes no
// difference.
type Capture struct {
	Path  []string // the names of the member and of the objects around it, from the outside
	Limit int      // bytes of the value
	To    Capturer // gets the value of each member with that path

	depth     int
	within    int  // how many names of the path the current object is inside of
	inObject  bool // the document is an object
	inString  bool
	backslash bool // an odd run of backslashes ended the last chunk
	wantKey   bool // on the path: the next string is a key
	matches   bool // the last key on the path is the next of its names
	done      bool

	recording bool
	record    []byte // of a key on the path, or of the value
}

// Capturer receives what a [Capture] finds.
type Capturer interface {
	// Captured receives a value as it is written, truncated to the limit of the capture. It is valid during the call.
	Captured(value []byte)
}

// CaptureFunc is a [Capturer] that calls itself.
type CaptureFunc func(value []byte)

// Captured implements [Capturer].
func (f CaptureFunc) Captured(value []byte) { f(value) }

// Held returns how many bytes of memory the capture holds.
func (c *Capture) Held() int { return cap(c.record) }

// Reset makes the capture ready for another document.
func (c *Capture) Reset() {
	*c = Capture{Path: c.Path, Limit: c.Limit, To: c.To, record: c.record[:0]}
}

// Write accepts the next bytes of the document.
func (c *Capture) Write(p []byte) {
	from := 0 // where the record continues in p
	for i := 0; i < len(p) && !c.done; i++ {
		if c.inString {
			end := c.stringEnd(p[i:])
			if end < 0 {
				break
			}
			i += end
			c.inString = false
			if c.wantKey && c.onPath() {
				c.matches = Spells(c.whole(p[from:i]), c.Path[c.within])
				c.wantKey, c.recording, c.record = false, false, c.record[:0]
			}
			continue
		}
		switch p[i] {
		case '"':
			c.inString = true
			if c.wantKey && c.onPath() {
				c.recording, from = true, i+1
			}
		case '{', '[':
			c.open(p[i])
		case ':':
			if c.onPath() && c.matches && c.within == len(c.Path)-1 && !c.recording {
				c.recording, from = true, i+1
			}
		case ',':
			if c.onPath() {
				c.finish(p[from:i])
				c.wantKey = c.inObject
			}
		case '}', ']':
			c.close(p[from:i])
		}
	}
	if c.recording {
		c.record = c.hold(c.record, p[from:])
	}
}

// onPath reports whether the current object is the one whose members the path names next.
func (c *Capture) onPath() bool { return c.depth == c.within+1 }

func (c *Capture) open(bracket byte) {
	enters := bracket == '{' && c.onPath() && c.matches && c.within < len(c.Path)-1
	c.depth++
	switch {
	case c.depth == 1:
		c.inObject = bracket == '{'
		c.wantKey = c.inObject
	case enters:
		c.within++
		c.wantKey, c.matches = true, false
	}
}

func (c *Capture) close(rest []byte) {
	if c.onPath() {
		c.finish(rest)
		c.wantKey = false
		c.within = max(c.within-1, 0)
	}
	if c.depth--; c.depth <= 0 {
		c.done = true
	}
}

// whole returns the record with the rest of it.
func (c *Capture) whole(rest []byte) []byte {
	if len(c.record) == 0 {
		return rest[:min(len(rest), c.Limit)]
	}
	return c.hold(c.record, rest)
}

// finish passes on the value that has ended, if it is the member's; rest is the part that is not in the record yet.
func (c *Capture) finish(rest []byte) {
	if c.recording {
		c.To.Captured(c.whole(rest))
	}
	c.matches, c.recording, c.record = false, false, c.record[:0]
}

// hold appends as much of p as Limit allows.
func (c *Capture) hold(dst, p []byte) []byte {
	return append(dst, p[:min(len(p), max(c.Limit-len(dst), 0))]...)
}

// stringEnd returns the index of the quote that ends a string with which p begins. Without one it returns -1, and remembers an
// odd run of backslashes at the end of p.
func (c *Capture) stringEnd(p []byte) int {
	for i := 0; ; i++ {
		quote := bytes.IndexByte(p[i:], '"')
		end := len(p)
		if quote >= 0 {
			end = i + quote
		}
		run := end
		for run > i && p[run-1] == '\\' {
			run--
		}
		odd := (end-run)&1 == 1
		if run == i {
			odd = odd != c.backslash
		}
		c.backslash = false
		if quote < 0 {
			c.backslash = odd
			return -1
		}
		if !odd {
			return end
		}
		i = end
	}
}
