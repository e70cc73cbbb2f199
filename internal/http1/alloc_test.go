//go:build !race

package http1

import (
	"io"
	"testing"
)

// A request over an idle connection takes ten allocations, a large one two more for its sender. With TLS, the allocations of the
// peer's TLS are included. The budgets have a margin of a tenth.
func TestAllocations(t *testing.T) {
	for name, c := range map[string]struct {
		secured bool
		size    int
		budget  float64
	}{
		"small": {false, 1000, 11}, "large": {false, 200_000, 13}, "small, TLS": {true, 1000, 15}, "large, TLS": {true, 200_000, 23},
	} {
		r := newRequest(t, large[:c.size])
		response, length := []byte(okay), len(bytesOf(r))
		p := listen(t, c.secured, func(v *visitor) {
			in := make([]byte, 16<<10)
			for got := 0; ; { // without an allocation of its own
				n, err := v.Read(in)
				if err != nil {
					return
				}
				if got += n; got == length {
					got = 0
					v.Write(response)
				}
			}
		})
		written := make(chan struct{}, 1)
		done := r.Sent
		r.Sent = func() { written <- struct{}{} }
		b := make([]byte, 100)
		got := testing.AllocsPerRun(200, func() {
			response, err := p.Send(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = response.Body.Read(b)
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			<-written
		})
		done()
		p.connectionsAre(t, 1)
		if got > c.budget {
			t.Errorf("%s: %v allocations, not %v", name, got, c.budget)
		}
	}
}
