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

// process is a running program that requests are sent to.
type process struct {
	endpoint
	pid    int                   // 0: unknown, so that neither its processor time nor its memory can be told
	family func() ([]int, error) // the processes that count, by their ids
	cmd    *exec.Cmd             // nil: it was there before and stays
	exited chan struct{}         // closed when it has ended
	clean  func()                // once it has ended
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
		_ = p.cmd.Wait() // the process's state tells
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
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-p.exited:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
	p.clean()
}

// blame adds to an error of the load that the process has ended, if that is why.
func (p *process) blame(err error) error {
	if err == nil || p.cmd == nil {
		return err
	}
	select {
	case <-p.exited:
		return fmt.Errorf("%s ended: %v: %w%s", p.cmd, p.cmd.ProcessState, err, p.lastWords())
	case <-time.After(200 * time.Millisecond): // in which an end would show
		return err
	}
}

// lastWords is the end of what the process logged to a file, if it did.
func (p *process) lastWords() string {
	log, ok := p.cmd.Stderr.(*os.File)
	if !ok || log == os.Stderr {
		return ""
	}
	text, _ := os.ReadFile(log.Name()) // what there is of it
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

// cpu is the processor time that the process and its descendants have used; of an unknown process it is 0.
func (p *process) cpu() (time.Duration, error) {
	return sum(p, cpuTime)
}

// memory is resident memory in bytes, present or peak, of the process and its descendants together.
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
