package account

import (
	"testing"
	"testing/synctest"
	"time"
)

// Whoever waits for a turn does not stop the clock of a test while its holder waits for a disk.
func TestDiskTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, order := newDiskTurn(), make(chan string, 2)
		g.Lock()
		go func() {
			g.Lock()
			order <- "second"
			g.Unlock()
		}()
		time.Sleep(time.Hour)
		order <- "first"
		g.Unlock()
		if first, second := <-order, <-order; first != "first" || second != "second" {
			t.Errorf("%s, %s", first, second)
		}
	})
}
