package messages

import (
	"shunt/internal/dialect"
	"shunt/internal/wire"
)

// responseMeter reads the usage of a response that is one JSON document, as the bytes pass (OBS-1). It holds only the usage
// itself.
type responseMeter struct {
	wire.Capture
	usage dialect.Usage
}

func newResponseMeter() *responseMeter {
	m := &responseMeter{}
	m.Capture = wire.Capture{Path: usagePath, Limit: maxHeld, To: m}
	return m
}

var usagePath = []string{"usage"}

// Captured implements [wire.Capturer].
func (m *responseMeter) Captured(object []byte) { readUsage(&m.usage, object) }

// Usage implements [dialect.Meter].
func (m *responseMeter) Usage() dialect.Usage { return m.usage }
