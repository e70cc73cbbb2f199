// Command bench measures what shunt costs per request, compared with a bare httputil.ReverseProxy on the same machine in the
// same run. It prints numbers and whether they meet their targets; its exit code reports only whether it could measure.
//
// This process sends the load and is the upstream. Shunt and the bare proxy run between the two, as separate processes that
// take turns, so that a slow minute of the machine affects both. README.md explains the output.
//
//	bench -shunt PATH [-only REGEXP] [-for 3s] [-rounds 5] [-stream-rounds 3] [-results FILE]
//	bench -peer URL [-peer-pid PID] [-header 'name: value']... -upstream-listen ADDRESS
//	bench -upstream-listen ADDRESS
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

type options struct {
	shunt          string // the binary under test
	peer           string // instead of it, the base URL of another gateway
	peerPID        int
	headers        headerFlag // added to the usual ones, or replacing them
	upstreamListen string
	only           *regexp.Regexp // which measurements to take; nil: all
	length         time.Duration  // of one measurement
	rounds         int
	streamRounds   int
	logLevel       string // of shunt
	log            string // file to append its log to; empty: a temporary one
	results        string // file to write the report to; empty: none
}

func main() {
	var o options
	bare := flag.String("bare", "", "serve as the bare proxy in front of `URL`")
	listen := flag.String("listen", "", "`address` of the bare proxy")
	flag.StringVar(&o.shunt, "shunt", "", "`path` of the shunt binary")
	flag.StringVar(&o.peer, "peer", "", "base `URL` of another gateway, already running, whose upstream is this program")
	flag.IntVar(&o.peerPID, "peer-pid", 0, "`pid` of that gateway, for its processor time and memory together with its children's")
	flag.Var(&o.headers, "header", "a `'name: value'` for each request, replacing the usual one of that name; an empty value removes it; repeatable")
	flag.StringVar(&o.upstreamListen, "upstream-listen", "127.0.0.1:0", "`address` of the upstream; without -shunt and -peer it serves until it is interrupted")
	flag.Func("only", "take only the measurements whose name matches the `regexp`", func(s string) (err error) {
		o.only, err = regexp.Compile(s)
		return err
	})
	flag.DurationVar(&o.length, "for", 3*time.Second, "length of one measurement")
	flag.IntVar(&o.rounds, "rounds", 5, "measurements of each kind and program")
	flag.IntVar(&o.streamRounds, "stream-rounds", 3, "the same for the streams")
	flag.StringVar(&o.logLevel, "log-level", "info", "log `level` of shunt")
	flag.StringVar(&o.log, "log", "", "`file` to append the log of shunt to")
	flag.StringVar(&o.results, "results", "", "`file` to write the report to as well")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := func() error { return start(ctx, o) }
	if *bare != "" {
		run = func() error { return serveBare(ctx, *listen, *bare) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, o options) error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected %q", flag.Args())
	case o.shunt != "" && o.peer != "":
		return errors.New("-shunt or -peer, not both")
	case o.rounds < 1 || o.streamRounds < 1 || o.length <= 0:
		return errors.New("-rounds, -stream-rounds and -for must be positive")
	case o.shunt == "" && o.peer == "":
		return serveUpstream(ctx, o.upstreamListen)
	}
	return (&bench{options: o}).run(ctx)
}

// serveUpstream serves the upstream alone until it is interrupted, for setting up another gateway.
func serveUpstream(ctx context.Context, addr string) error {
	up, err := startUpstream(addr)
	if err != nil {
		return err
	}
	defer up.server.Close()
	fmt.Printf("the upstream serves %s, POST /v1/messages; interrupt to stop it\n", up.url)
	<-ctx.Done()
	return nil
}
