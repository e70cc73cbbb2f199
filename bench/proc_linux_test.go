package main

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

func TestParseMemory(t *testing.T) {
	const status = "Name:\tVmRSS:\nVmHWM:\t   18188 kB\nVmRSS:\t     904 kB\nThreads:\t7\n"
	for which, want := range map[string]int64{residentMemory: 904 << 10, peakMemory: 18188 << 10} {
		if got, err := parseMemory(status, which); got != want || err != nil {
			t.Errorf("%s: %d, %v", which, got, err)
		}
	}
	for _, status := range []string{"", "VmRSS:\n", "VmRSS: 5 MB\n", "VmRSS: many kB\n"} {
		if got, err := parseMemory(status, residentMemory); err == nil {
			t.Errorf("%q: %d", status, got)
		}
	}
}

func TestParseStat(t *testing.T) {
	pid, parent, err := parseStat([]byte("4711 (a) b (c) S 12 4711 4711 0 -1\n"))
	if pid != 4711 || parent != 12 || err != nil {
		t.Errorf("%d, %d, %v", pid, parent, err)
	}
	for _, stat := range []string{"", "4711 (a)", "x (a) S 12", "4711 (a) S x"} {
		if _, _, err := parseStat([]byte(stat)); err == nil {
			t.Errorf("%q can be read", stat)
		}
	}
}

// What is read about a process agrees with what this process knows about itself.
func TestOwnProcess(t *testing.T) {
	self := os.Getpid()
	for start := time.Now(); time.Since(start) < 50*time.Millisecond; {
	}
	used, err := cpuTime(self)
	if err != nil {
		t.Fatal(err)
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	known := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if used <= 0 || (known-used).Abs() > 100*time.Millisecond {
		t.Errorf("%v of processor time, rusage says %v", used, known)
	}
	resident, err := memory(self, residentMemory)
	if err != nil {
		t.Fatal(err)
	}
	peak, err := memory(self, peakMemory)
	if err != nil || resident < 1e6 || peak < resident {
		t.Errorf("%d bytes resident, %d at the peak, %v", resident, peak, err)
	}
	if _, err := cpuTime(1<<22 + 1); err == nil {
		t.Error("a process that is not there has used processor time")
	}
}

func TestFamily(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() //nolint // it is killed
	defer child.Process.Kill()
	pids, err := family(os.Getpid())
	if err != nil || pids[0] != os.Getpid() || !slices.Contains(pids, child.Process.Pid) {
		t.Errorf("%v without %d, %v", pids, child.Process.Pid, err)
	}
	if pids, err := family(child.Process.Pid); err != nil || len(pids) != 1 {
		t.Errorf("the child's own: %v, %v", pids, err)
	}
}
