package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// program is one of the two programs that are compared.
type program struct {
	name  string
	start func(context.Context) (*process, error)
}

// bareProgram is this program as the bare proxy.
func bareProgram(upstream string, headers []header) program {
	return program{"bare", func(ctx context.Context) (*process, error) {
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
		return launch(ctx, endpoint{addr: addr, headers: headers, exact: true}, cmd, func() {})
	}}
}

// poolSize is the number of accounts of each of the two families.
const poolSize = 10

// shuntConfig returns a configuration with a pool of accounts of each family, whose identity is known, thresholds, the admin interface and the
// request log. Everything else has its default, except that the limit on concurrent requests is off.
func shuntConfig(addr, upstream, logLevel, requestLog string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[server]\nbind = %q\nmax_concurrent_requests = 0\n", addr)
	fmt.Fprintf(&b, "[server.pool]\n[server.admin]\n")
	fmt.Fprintf(&b, "[log]\nlevel = %q\nrequests = %q\n", logLevel, requestLog)
	fmt.Fprintf(&b, "[providers.anthropic]\nbase_url = %q\nauth = \"claude_oauth\"\n", upstream)
	for i := range poolSize {
		fmt.Fprintf(&b, "[[providers.anthropic.accounts]]\nname = \"account-%d\"\ntoken_env = \"BENCH_TOKEN_%d\"\nuuid = %q\n", i, i, accountUUID(i))
	}
	fmt.Fprintf(&b, "[server.openai_endpoint]\nprovider = \"chatgpt\"\n[providers.chatgpt]\nkind = \"responses\"\nbase_url = \"%s/backend-api\"\nauth = \"chatgpt_oauth\"\n", upstream)
	for i := range poolSize {
		fmt.Fprintf(&b, "[[providers.chatgpt.accounts]]\nname = \"account-%d\"\ntoken_env = \"BENCH_CODEX_TOKEN_%d\"\nuuid = \"bench-%02d\"\n", i, i, i)
	}
	fmt.Fprintf(&b, "[[routes]]\nmodel = %q\nprovider = \"chatgpt\"\nupstream_model = \"gpt-5.5\"\n", translatedModel)
	return b.String()
}

func accountToken(i int) string { return fmt.Sprintf("bench-token-%02d", i) }
func accountUUID(i int) string  { return fmt.Sprintf("22222222-2222-4222-8222-2222222222%02d", i) }

// shuntProgram runs shunt as its users do. It writes to a temporary directory, which is removed after the
// process has exited; the log can be kept.
func shuntProgram(o options, upstream string) program {
	return program{"shunt", func(ctx context.Context) (*process, error) {
		addr, err := freeAddress()
		if err != nil {
			return nil, err
		}
		dir, err := os.MkdirTemp("", "shunt-bench-")
		if err != nil {
			return nil, err
		}
		cmd, err := shuntCommand(ctx, o, shuntConfig(addr, upstream, o.logLevel, filepath.Join(dir, "requests.jsonl")), dir)
		if err != nil {
			os.RemoveAll(dir)
			return nil, err
		}
		clean := func() {
			cmd.Stderr.(*os.File).Close()
			os.RemoveAll(dir)
		}
		return launch(ctx, endpoint{addr: addr, headers: o.headers, exact: true}, cmd, clean)
	}}
}

func shuntCommand(ctx context.Context, o options, config, dir string) (*exec.Cmd, error) {
	path := filepath.Join(dir, "shunt.toml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return nil, err
	}
	if o.log == "" {
		o.log = filepath.Join(dir, "shunt.log")
	}
	log, err := os.OpenFile(o.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.shunt, "run", "--config", path)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SHUNT_") })
	cmd.Env = append(cmd.Env, "HOME="+dir, "SHUNT_ADMIN_TOKENS=bench:"+adminToken)
	for i := range poolSize {
		cmd.Env = append(cmd.Env, fmt.Sprintf("BENCH_TOKEN_%d=%s", i, accountToken(i)), fmt.Sprintf("BENCH_CODEX_TOKEN_%d=%s", i, codexToken(i)))
	}
	cmd.Stderr = log
	return cmd, nil
}

// peerProgram is a gateway that is already running: it is the same process each time.
func peerProgram(o options) (program, error) {
	u, err := url.Parse(o.peer)
	if err != nil {
		return program{}, err
	}
	if u.Scheme != "http" || u.Port() == "" {
		return program{}, fmt.Errorf("-peer %s: want http://HOST:PORT, optionally with a path", o.peer)
	}
	e := endpoint{addr: u.Host, prefix: strings.TrimSuffix(u.Path, "/"), headers: o.headers}
	return program{"peer", func(context.Context) (*process, error) {
		return &process{endpoint: e, pid: o.peerPID, family: func() ([]int, error) { return family(o.peerPID) }}, nil
	}}, nil
}

// freeAddress returns a port below those that the system assigns, so that no connection takes it before its server does.
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
