package observetest_test

import (
	"fmt"
	"sync"
	"testing"

	"shunt/internal/observe/observetest"
)

func TestLog(t *testing.T) {
	var log observetest.Log
	var writers sync.WaitGroup
	for range 10 {
		writers.Go(func() { fmt.Fprint(&log, "x") })
	}
	writers.Wait()
	if got := log.String(); got != "xxxxxxxxxx" {
		t.Errorf("logged %q", got)
	}
	if got := log.Take(); got != "xxxxxxxxxx" || log.String() != "" {
		t.Errorf("took %q and left %q", got, log.String())
	}
}
