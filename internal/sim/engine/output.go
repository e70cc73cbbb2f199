package engine

import "io"

// Output writes the body of a stream in chunks.
type Output struct {
	W       io.Writer
	Encoder Encoder // nil without a content coding
	Flush   func() error
	Chunk   int // bytes; 0 = write by write

	held []byte
}

// Send writes p and flushes it, except for what does not fill a chunk.
func (o *Output) Send(p []byte) error {
	o.held = append(o.held, p...)
	if o.Chunk == 0 {
		return o.Drain()
	}
	for len(o.held) >= o.Chunk {
		if err := o.push(o.held[:o.Chunk]); err != nil {
			return err
		}
		o.held = o.held[o.Chunk:]
	}
	return nil
}

// Drain writes what is held back for a whole chunk.
func (o *Output) Drain() error {
	if len(o.held) == 0 {
		return nil
	}
	err := o.push(o.held)
	o.held = nil
	return err
}

func (o *Output) push(p []byte) error {
	if _, err := o.W.Write(p); err != nil {
		return err
	}
	if o.Encoder != nil {
		if err := o.Encoder.Flush(); err != nil {
			return err
		}
	}
	return o.Flush()
}

// Close writes everything that is left and ends the content coding.
func (o *Output) Close() error {
	if err := o.Drain(); err != nil {
		return err
	}
	if o.Encoder != nil {
		return o.Encoder.Close()
	}
	return nil
}
