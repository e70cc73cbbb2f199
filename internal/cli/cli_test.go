package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"shunt/internal/family"
	"shunt/internal/family/claude"
	"shunt/internal/sim"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"shunt": func() {
			os.Exit(Main(System{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
		},
		"shunt-with-acme": func() {
			s := System{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
			os.Exit(run(s, []*family.Family{&claude.Family, &acme}))
		},
		"xdg-open": browse,
		"open":     browse,
	})
}

// TestScripts runs the real command line (CLI-1), one script per feature.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("NO_PROXY", "127.0.0.1")
			return os.Mkdir(e.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"freeport": freePort, "get": get, "signal": sendSignal, "waitlog": waitLog, "provider": startProvider,
		},
	})
}

// browse is the program that opens a browser. The person in it logs in as $PERSON, denies the login if that is "nobody",
// and without it there is no browser.
func browse() {
	person := sim.Browser{Account: os.Getenv("PERSON")}
	switch person.Account {
	case "":
		os.Exit(3)
	case "nobody":
		person.Account = ""
	}
	if _, err := person.Authorize(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(4)
	}
}

// startProvider ACCOUNT... starts a simulated provider for logins.
func startProvider(ts *testscript.TestScript, _ bool, args []string) {
	var config sim.Config
	for _, name := range args {
		config.Accounts = append(config.Accounts, sim.Account{Name: name, UUID: "uuid-of-" + name})
	}
	server, err := sim.Start(sim.New(config))
	ts.Check(err)
	ts.Defer(func() { ts.Check(server.Close()) })
	ts.Setenv("SHUNT_CLAUDE_AUTHORIZE_URL", server.URL+sim.AuthorizePath)
	ts.Setenv("SHUNT_CLAUDE_TOKEN_URL", server.URL+sim.TokenPath)
}

// freePort VARIABLE sets the variable to a free port of 127.0.0.1.
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Check(l.Close())
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(err)
	ts.Setenv(args[0], port)
}

// get URL TEXT waits until the URL responds, and requires the text in the response.
func get(ts *testscript.TestScript, neg bool, args []string) {
	var body string
	for range 200 {
		response, err := http.Get(args[0])
		if err == nil {
			b, _ := io.ReadAll(response.Body)
			response.Body.Close()
			body = fmt.Sprintf("%s\n%s", response.Status, b)
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if strings.Contains(body, args[1]) == neg {
		ts.Fatalf("get %s: %s", args[0], body)
	}
}

// sendSignal HUP|TERM sends the signal to the command that runs in the background.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM}
	running := ts.BackgroundCmds()
	ts.Check(running[len(running)-1].Process.Signal(signals[args[0]]))
}

// waitLog FILE TEXT waits until a file contains the text.
func waitLog(ts *testscript.TestScript, _ bool, args []string) {
	for range 200 {
		if data, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(data), args[1]) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s never printed %q", args[0], args[1])
}
