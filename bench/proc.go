package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Lines of /proc/PID/status.
const (
	residentMemory = "VmRSS"
	peakMemory     = "VmHWM"
)

// memory returns the current or peak resident memory of a process in bytes.
func memory(pid int, which string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	n, err := parseMemory(string(status), which)
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return n, nil
}

func parseMemory(status, which string) (int64, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, which+":")
		if !ok {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		kib, err := strconv.ParseInt(number, 10, 64)
		if err != nil || unit != "kB" {
			return 0, fmt.Errorf("cannot read %q", line)
		}
		return kib << 10, nil
	}
	return 0, fmt.Errorf("no %s in its status", which)
}

// forgetPeak resets a process's peak memory to its current memory.
func forgetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// family returns a process and all its descendants.
func family(pid int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has exited
		}
		child, parent, err := parseStat(stat)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		children[parent] = append(children[parent], child)
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all, nil
}

// parseStat returns a process's id and its parent's from its stat file: the first field, and the second one after the name,
// which is in parentheses and may contain anything.
func parseStat(stat []byte) (pid, parent int, err error) {
	id, _, _ := bytes.Cut(stat, []byte(" "))
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("cannot read %q", stat)
	}
	if pid, err = strconv.Atoi(string(id)); err != nil {
		return 0, 0, err
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return pid, parent, err
}
