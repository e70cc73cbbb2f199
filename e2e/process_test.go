package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// resident returns the resident memory of shunt in bytes.
func (g *gateway) resident(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(g.proc("status"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, err := strconv.ParseInt(kib, 10, 64)
	if err != nil {
		t.Fatalf("VmRSS in %s: %v", g.proc("status"), err)
	}
	return n << 10
}

// descriptors returns the number of files and sockets that shunt has open.
func (g *gateway) descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir(g.proc("fd"))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func (g *gateway) proc(file string) string {
	return filepath.Join("/proc", strconv.Itoa(g.cmd.Process.Pid), file)
}

// series holds the values of a scrape by name and labels, as written: `shunt_conditions`, `x_total{a="b"}`.
type series map[string]float64

// scrape reads the metrics at an address (OBS-2).
func scrape(t *testing.T, address string) series {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %d, %v", response.StatusCode, err)
	}
	s := series{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("metrics: %q", line)
		}
		s[line[:at]] = value
	}
	return s
}

// sum adds up the series with the name and all of the labels, written `name="value"`.
func (s series) sum(name string, labels ...string) (total float64) {
next:
	for key, value := range s {
		if series, rest, _ := strings.Cut(key, "{"); series != name {
			continue
		} else {
			for _, label := range labels {
				if !strings.Contains(","+strings.TrimSuffix(rest, "}")+",", ","+label+",") {
					continue next
				}
			}
		}
		total += value
	}
	return total
}

func label(name string, value any) string { return fmt.Sprintf("%s=%q", name, fmt.Sprint(value)) }
