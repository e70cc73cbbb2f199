// Command bench measures what a hop through shunt costs, beside a bare httputil.ReverseProxy on the same machine in the
// same run. It prints numbers and judges none.
//
// Three parties, in processes of their own where it matters: this one sends the load and answers as the upstream; shunt
// and the bare proxy run as separate processes between the two and take turns, so that a slow minute of the machine hits
// both. What is printed is the median over the rounds, and the median of the rounds' ratios.
//
//	bench -shunt PATH [-for 3s] [-rounds 5] [-log-level info] [-log FILE]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

type options struct {
	shunt    string        // the binary under test; empty: the bare proxy alone
	logLevel string        // of shunt
	log      string        // the file that its log is appended to; empty: nowhere
	length   time.Duration // of one measurement
	rounds   int
	workers  int // connections that send one request after the other
}

func main() {
	var o options
	bare := flag.String("bare", "", "serve as the bare proxy in front of `URL`")
	listen := flag.String("listen", "", "`address` of the bare proxy")
	flag.StringVar(&o.shunt, "shunt", "", "`path` of the shunt binary; without it only the bare proxy is measured")
	flag.StringVar(&o.logLevel, "log-level", "info", "log `level` of shunt")
	flag.StringVar(&o.log, "log", "", "`file` for the log of shunt, which goes nowhere otherwise")
	flag.DurationVar(&o.length, "for", 3*time.Second, "length of one measurement")
	flag.IntVar(&o.rounds, "rounds", 5, "measurements of each kind and target")
	flag.IntVar(&o.workers, "workers", 16, "concurrent connections of the request measurements")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := func() error { return measure(ctx, o) }
	if *bare != "" {
		run = func() error { return serveBare(ctx, *listen, *bare) }
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
