package dialecttest_test

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"shunt/internal/dialect"
	"shunt/internal/dialect/dialecttest"
	"shunt/internal/dialect/messages"
	"shunt/internal/wire"
)

// faults are dialects that break the contract, each in one way.
var faults = map[string]dialect.Inbound{
	"accepts truncated bodies": accepting{},
	"changes nothing":          unchanging{},
	"pings inside an event":    unfinished{},
	"sends empty errors":       silent{},
	"overlooks failures":       hopeful{},
	"completes at once":        hasty{},
}

type accepting struct{ messages.Dialect }

func (d accepting) Scan(body []byte) (dialect.Request, error) {
	r, _ := d.Dialect.Scan(body)
	return r, nil
}

type unchanging struct{ messages.Dialect }

func (unchanging) AppendEdits(dst []wire.Edit, _ *dialect.Request, _, _ string) []wire.Edit {
	return dst
}

type unfinished struct{ messages.Dialect }

func (d unfinished) Ping() []byte { return bytes.TrimSuffix(d.Dialect.Ping(), []byte("\n")) }

type silent struct{ messages.Dialect }

func (silent) AppendError(dst []byte, _ *dialect.Error, _ string) []byte { return append(dst, "{}"...) }

type hopeful struct{ messages.Dialect }

func (d hopeful) FirstEvent(head []byte) (dialect.Opening, bool) {
	o, found := d.Dialect.FirstEvent(head)
	o.Failure = nil
	return o, found
}

type hasty struct{ messages.Dialect }

func (d hasty) NewStreamMeter() dialect.StreamMeter { return complete{d.Dialect.NewStreamMeter()} }

type complete struct{ dialect.StreamMeter }

func (complete) Complete() bool { return true }

const faultVariable = "DIALECTTEST_FAULT"

const (
	start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":2}}}\n\n"
	stop  = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// TestConformance runs the conformance test on a correct dialect or, for TestConformanceFindsFaults, on one that is not.
func TestConformance(t *testing.T) {
	var tested dialect.Inbound = messages.Dialect{}
	if broken, ok := faults[os.Getenv(faultVariable)]; ok {
		tested = broken
	}
	dialecttest.Run(t, dialecttest.Example{
		Inbound: tested, Outbound: messages.Dialect{},
		Header: http.Header{"X-Claude-Code-Session-Id": {"s-1"}}, Session: "s-1",
		Body:      `{"model":"m-1","messages":[],"stream":true,"metadata":{"user_id":"{\"account_uuid\":\"u\"}"}}`,
		Model:     "m-1",
		Response:  `{"model":"m-1","usage":{"input_tokens":2}}`,
		Stream:    start + stop,
		Usage:     dialect.Usage{Input: 2, Known: true},
		Continued: start,
	})
}

// The conformance test fails for every dialect that breaks the contract.
func TestConformanceFindsFaults(t *testing.T) {
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(os.Args[0], "-test.run=^TestConformance$", "-test.timeout=20s")
			command.Env = append(os.Environ(), faultVariable+"="+name)
			if out, err := command.CombinedOutput(); err == nil {
				t.Errorf("the dialect passed:\n%s", out)
			}
		})
	}
}
