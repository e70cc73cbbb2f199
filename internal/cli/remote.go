package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/internal/admin"
	"shunt/internal/config"
	"shunt/internal/hosts"
	"shunt/internal/secret"
)

// remoteFlags select the running gateway that a command uses.
type remoteFlags struct {
	URL string `placeholder:"URL" help:"The gateway's URL. Default: the address that the configuration binds."`
}

// gatewayURL returns the URL of the gateway (CLI-2).
func (f *remoteFlags) gatewayURL(cfg *config.Config) string {
	if f.URL != "" {
		return strings.TrimSuffix(f.URL, "/")
	}
	bind := cfg.Server.Bind
	address := bind.Addr()
	if address.IsUnspecified() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + net.JoinHostPort(address.String(), strconv.Itoa(int(bind.Port())))
}

// remote is the admin API of a running gateway.
type remote struct {
	url    string
	header string
	token  secret.String
}

// dial returns a client for the gateway. The credential is SHUNT_ADMIN_TOKEN, else one from the configuration (CLI-2). dial does
// not connect.
func (f *remoteFlags) dial(c *commands, s *System) (*remote, error) {
	cfg, _, err := load(c, s)
	if err != nil {
		return nil, err
	}
	r := &remote{url: f.gatewayURL(cfg), header: cfg.Server.Admin.Header, token: secret.New(s.Getenv("SHUNT_ADMIN_TOKEN"))}
	if r.header == "" {
		r.header = "x-shunt-admin-token"
	}
	for _, tokens := range [][]config.Token{cfg.Server.Admin.Tokens, cfg.Server.Admin.WriteKeys} {
		for _, t := range tokens {
			if r.token.IsZero() {
				r.token = t.Value
			}
		}
	}
	if r.token.IsZero() {
		return nil, errors.New("no admin credential: set SHUNT_ADMIN_TOKEN, or configure [server.admin]")
	}
	return r, nil
}

const remoteTimeout = 10 * time.Second

// call sends a request to the admin API and decodes the response into to, unless that is nil.
func (r *remote) call(ctx context.Context, method, path string, body, to any) error {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, sent)
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	request.Header.Set(r.header, r.token.Reveal())
	client := http.Client{Transport: &http.Transport{Proxy: hosts.Proxy}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("shunt does not respond: is it running? %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	switch {
	case err != nil:
		return fmt.Errorf("shunt aborted its response: %w", err)
	case response.StatusCode == http.StatusNotFound && path == poolPath:
		return errors.New("this shunt has no admin API: add [server.admin] to its configuration and restart it")
	case response.StatusCode != http.StatusOK:
		var refusal struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		_ = json.Unmarshal(text, &refusal) // without a message if it is not an error of shunt
		return fmt.Errorf("shunt responds %d: %s", response.StatusCode, refusal.Error.Message)
	case to != nil:
		if err := json.Unmarshal(text, to); err != nil {
			return fmt.Errorf("not a response of shunt: %w", err)
		}
	}
	return nil
}

const poolPath = "/admin/api/pool"

func (r *remote) pools(ctx context.Context) (pools admin.Pools, err error) {
	err = r.call(ctx, http.MethodGet, poolPath, nil, &pools)
	return pools, err
}

// pauseCommand pauses or resumes an account of a running gateway (PAU-1).
type pauseCommand struct {
	remoteFlags
	Name     string `arg:"" help:"The account, by any of its names."`
	Provider string `help:"The provider, if several have an account of that name."`
}

type resumeCommand struct{ pauseCommand }

func (p *pauseCommand) Run(c *commands, s *System) error  { return p.set(c, s, true) }
func (r *resumeCommand) Run(c *commands, s *System) error { return r.set(c, s, false) }

func (p *pauseCommand) set(c *commands, s *System, paused bool) error {
	gateway, err := p.dial(c, s)
	if err != nil {
		return err
	}
	ctx := context.Background()
	pools, err := gateway.pools(ctx)
	if err != nil {
		return err
	}
	var path string
	for _, provider := range pools.Providers {
		for _, account := range provider.Accounts {
			if account.Name != p.Name && !slices.Contains(account.Aliases, p.Name) || p.Provider != "" && provider.Provider != p.Provider {
				continue
			}
			if path != "" {
				return fmt.Errorf("several providers have an account %s: choose one with --provider", p.Name)
			}
			path = poolPath + "/" + provider.Provider + "/accounts/" + account.AccountRef
		}
	}
	if path == "" {
		return fmt.Errorf("no pool has an account %s: `shunt status` lists the accounts", p.Name)
	}
	if err := gateway.call(ctx, http.MethodPatch, path, map[string]bool{"paused": paused}, nil); err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "%s %s\n", p.Name, map[bool]string{true: "paused", false: "resumed"}[paused])
	return nil
}
