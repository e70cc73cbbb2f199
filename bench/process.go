package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
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
	addr   string
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has ended
}

func (p *process) start() error {
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.exited = make(chan struct{})
	go func() {
		_ = p.cmd.Wait() // the process's state tells
		close(p.exited)
	}()
	return nil
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	<-p.exited
}

// blame adds to an error of the load that the process has ended, if that is why.
func (p *process) blame(err error) error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended: %v: %w", p.cmd, p.cmd.ProcessState, err)
	case <-time.After(200 * time.Millisecond): // in which an end would show
		return err
	}
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
		addr, err := freeAddress()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, self, "-bare", upstream, "-listen", addr)
		cmd.Stderr = os.Stderr
		return launch(ctx, &process{addr: addr, cmd: cmd})
	}}
}

// shuntTarget runs shunt as its users do: a pool of three accounts whose identity is known, the log at info. Only the
// limit on concurrent requests is off, and the log goes nowhere.
func shuntTarget(o options, upstream, dir string) target {
	return target{"shunt", func(ctx context.Context) (*process, error) {
		addr, err := freeAddress()
		if err != nil {
			return nil, err
		}
		var config strings.Builder
		fmt.Fprintf(&config, "[server]\nbind = %q\nmax_concurrent_requests = 0\n[log]\nlevel = %q\n", addr, o.logLevel)
		fmt.Fprintf(&config, "[server.admin]\n")
		fmt.Fprintf(&config, "[providers.anthropic]\nbase_url = %q\nauth = \"claude_oauth\"\n", upstream)
		for i, name := range [...]string{"a", "b", "c"} {
			fmt.Fprintf(&config, "[[providers.anthropic.accounts]]\nname = %q\ntoken_env = \"BENCH_TOKEN\"\nuuid = \"22222222-2222-4222-8222-22222222222%d\"\n", name, i)
		}
		path := filepath.Join(dir, "shunt.toml")
		if err := os.WriteFile(path, []byte(config.String()), 0o600); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, o.shunt, "run", "--config", path)
		cmd.Env = append(os.Environ(), "HOME="+dir, "BENCH_TOKEN=bench", "SHUNT_ADMIN_TOKENS=bench:"+adminToken)
		if o.log != "" {
			log, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			defer log.Close()
			cmd.Stderr = log
		}
		return launch(ctx, &process{addr: addr, cmd: cmd})
	}}
}

// freeAddress finds a port below those that the system hands out, so that no connection takes it before its server does.
func freeAddress() (string, error) {
	for {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return l.Addr().String(), l.Close()
	}
}

func launch(ctx context.Context, p *process) (*process, error) {
	if err := p.start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.cmd, err)
	}
	if err := p.ready(ctx); err != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		return nil, p.blame(err)
	}
	return p, nil
}

// ready waits until the process accepts connections.
func (p *process) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", p.addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-p.exited:
			return err
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
