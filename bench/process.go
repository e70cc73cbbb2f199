package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// target is one of the two programs that are compared.
type target struct {
	name  string
	start func(context.Context) (*process, error)
}

// process is a running target.
type process struct {
	addr string
	cmd  *exec.Cmd
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	_ = p.cmd.Wait()                          // its verdict on a signal says nothing
}

// cpu is the processor time that the process has used, in steps of 10 ms.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// Behind the name in parentheses come the fields from the third on; user and system time are the 14th and 15th.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// peakMemory is the most resident memory that the process ever had, in bytes.
func (p *process) peakMemory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %d tells no peak memory", p.cmd.Process.Pid)
}

// bareTarget is this program in its other role.
func bareTarget(upstream string) target {
	return target{"bare", func(ctx context.Context) (*process, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, self, "-bare", upstream)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, fmt.Errorf("start the bare proxy: %w", err)
		}
		p := &process{cmd: cmd}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			p.stop()
			return nil, fmt.Errorf("start the bare proxy: %w", err)
		}
		p.addr = strings.TrimSpace(line)
		return p, nil
	}}
}

// shuntTarget runs shunt as its users do: a pool of three accounts whose identity is known, the log at info. Only the
// limit on concurrent requests is off, and the log goes nowhere.
func shuntTarget(binary, logLevel, upstream, dir string) target {
	return target{"shunt", func(ctx context.Context) (*process, error) {
		addr, err := freeAddress()
		if err != nil {
			return nil, err
		}
		var config strings.Builder
		fmt.Fprintf(&config, "[server]\nbind = %q\nmax_concurrent_requests = 0\n[log]\nlevel = %q\n", addr, logLevel)
		fmt.Fprintf(&config, "[providers.anthropic]\nbase_url = %q\nauth = \"claude_oauth\"\n", upstream)
		for i, name := range [...]string{"a", "b", "c"} {
			fmt.Fprintf(&config, "[[providers.anthropic.accounts]]\nname = %q\ntoken_env = \"BENCH_TOKEN\"\nuuid = \"22222222-2222-4222-8222-22222222222%d\"\n", name, i)
		}
		path := filepath.Join(dir, "shunt.toml")
		if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, binary, "run", "--config", path)
		cmd.Env = append(os.Environ(), "HOME="+dir, "BENCH_TOKEN=bench")
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("start shunt: %w", err)
		}
		p := &process{addr: addr, cmd: cmd}
		if err := p.ready(ctx); err != nil {
			p.stop()
			return nil, fmt.Errorf("start shunt: %w", err)
		}
		return p, nil
	}}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// ready waits until the gateway answers for its health.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/health", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err == nil {
			answer.Body.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
