//go:build unix

package observe_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"shunt/internal/observe"
)

// stuckDisk returns a pipe that blocks once it is full.
func stuckDisk(t *testing.T) (path string, disk *os.File) {
	path = filepath.Join(t.TempDir(), "stuck")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	disk, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disk.Close() })
	return path, disk
}

// OBS-1: a stuck disk loses lines but does not delay requests: all writes return, lost lines are counted and reported as a
// condition, the others are complete, and the condition ends when the disk recovers.
func TestRequestLogSlowDisk(t *testing.T) {
	path, disk := stuckDisk(t)
	health := newHealth()
	log := openLog(t, path, health)

	const total = 40_000 // more than fits into the pipe, the current batch and the queue
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range total / 4 {
				log.Write(&observe.Record{RequestID: "r"})
			}
		})
	}
	writers.Wait()
	lost := int(log.Lost())
	if conditions := health.List(); lost == 0 || len(conditions) != 1 || !strings.Contains(conditions[0].Detail, "too slow") {
		t.Fatalf("lost %d, conditions %v", lost, conditions)
	}

	lines := bufio.NewScanner(disk)
	read := func(n int) {
		for range n {
			var r observe.Record
			if !lines.Scan() || json.Unmarshal(lines.Bytes(), &r) != nil {
				t.Fatalf("read %q, %v", lines.Text(), lines.Err())
			}
		}
	}
	read(total - lost)
	log.Write(&observe.Record{RequestID: "after"}) // a batch without a loss ends the condition
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	read(1)
	if conditions := health.List(); len(conditions) != 0 {
		t.Errorf("still active: %v", conditions)
	}
}

// OBS-1: Close does not wait long for a pipe without a reader; lines that do not fit are counted.
func TestRequestLogEnds(t *testing.T) {
	path, _ := stuckDisk(t)
	log := openLog(t, path, newHealth())
	const total = 2000 // more than fits into the pipe
	for range total {
		log.Write(&observe.Record{RequestID: "r"})
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if lost := log.Lost(); lost == 0 || lost == total {
		t.Errorf("%d of %d lines lost", lost, total)
	}
}
