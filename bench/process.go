package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a running program that receives requests.
type process struct {
	endpoint
	pid    int                   // 0: unknown, and so are its processor time and memory
	family func() ([]int, error) // the ids of the processes to count
	cmd    *exec.Cmd             // nil: it is not ours to stop
	exited chan struct{}         // closed when it has exited
	clean  func()                // called after it has exited
}

// launch starts a command and waits until it accepts connections.
func launch(ctx context.Context, e endpoint, cmd *exec.Cmd, clean func()) (*process, error) {
	if err := cmd.Start(); err != nil {
		clean()
		return nil, fmt.Errorf("start %s: %w", cmd, err)
	}
	pid := cmd.Process.Pid
	p := &process{
		endpoint: e, pid: pid, cmd: cmd, exited: make(chan struct{}), clean: clean,
		family: func() ([]int, error) { return []int{pid}, nil },
	}
	go func() {
		_ = p.cmd.Wait() // see the process's state
		close(p.exited)
	}()
	if err := p.ready(ctx); err != nil {
		err = p.blame(err)
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have exited already
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
	p.clean()
}

// blame adds to an error of the load that the process has exited, if it has.
func (p *process) blame(err error) error {
	if err == nil || p.cmd == nil {
		return err
	}
	select {
	case <-p.exited:
		return fmt.Errorf("%s exited: %v: %w%s", p.cmd, p.cmd.ProcessState, err, p.logTail())
	case <-time.After(200 * time.Millisecond): // enough to notice an exit
		return err
	}
}

// logTail returns the end of the process's log, if it is in a file.
func (p *process) logTail() string {
	log, ok := p.cmd.Stderr.(*os.File)
	if !ok || log == os.Stderr {
		return ""
	}
	text, _ := os.ReadFile(log.Name()) // as far as it can be read
	return "\n" + string(text[max(len(text)-1000, 0):])
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

// cpu returns the processor time that the process and its descendants have used; 0 if the process is unknown.
func (p *process) cpu() (time.Duration, error) {
	return sum(p, cpuTime)
}

// memory returns the current or peak resident memory in bytes of the process and its descendants together.
func (p *process) memory(which string) (int64, error) {
	return sum(p, func(pid int) (int64, error) { return memory(pid, which) })
}

func sum[T time.Duration | int64](p *process, of func(pid int) (T, error)) (total T, err error) {
	if p.pid == 0 {
		return 0, nil
	}
	pids, err := p.family()
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		n, err := of(pid)
		if err != nil {
			return 0, p.blame(err)
		}
		total += n
	}
	return total, nil
}
