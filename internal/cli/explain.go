package cli

import (
	"fmt"
	"io"
	"strings"

	"shunt/internal/app"
	"shunt/internal/config"
)

// explanation says where requests for a model go, in order.
type explanation struct {
	Model string `json:"model"`
	By    string `json:"by"` // the key of the configuration that decides
	Chain []step `json:"chain"`
}

type step struct {
	Upstream      string `json:"upstream"`
	UpstreamModel string `json:"upstream_model"`
	Origin        string `json:"origin"` // without the path, which may contain a secret
	Auth          string `json:"auth"`

	KeyEnv           string         `json:"key_env,omitempty"`
	KeyHeader        string         `json:"key_header,omitempty"`
	Accounts         []scopedByName `json:"accounts,omitempty"`          // of a pool; empty: the whole store
	ClientCredential *bool          `json:"client_credential,omitempty"` // of a passthrough: whether the client's own is sent (CHN-4)
}

type scopedByName struct {
	Name        string `json:"name"`
	TokenEnv    string `json:"token_env,omitempty"`
	Credentials bool   `json:"credentials,omitempty"` // a file outside the store
	Disabled    bool   `json:"disabled,omitempty"`
}

// explain returns where a request would go. Like the rest of check, it reads no credential (CFG-46).
func explain(cfg *config.Config, model string) (*explanation, error) {
	steps, by := app.Explain(cfg, model)
	if steps[0].Model == "" {
		return nil, fmt.Errorf("%q is not a model, only a long-context mark", model)
	}
	e := &explanation{Model: model, By: by}
	for _, s := range steps {
		p := s.Upstream
		next := step{Upstream: p.Name, UpstreamModel: s.Model, Origin: p.BaseURL.Scheme + "://" + p.BaseURL.Host, Auth: string(p.Auth)}
		switch p.Auth {
		case config.Passthrough:
			next.ClientCredential = &s.Client
		case config.APIKey:
			next.KeyEnv, next.KeyHeader = p.APIKeyEnv, string(p.APIKeyHeader)
		}
		for _, a := range p.Accounts {
			next.Accounts = append(next.Accounts, scopedByName{a.Name, a.TokenEnv, a.Credentials != "", a.Disabled})
		}
		e.Chain = append(e.Chain, next)
	}
	return e, nil
}

func (e *explanation) print(w io.Writer) {
	why := map[string]string{
		"models":                  "is mapped by [[models]]",
		"routes":                  "is routed by [[routes]]",
		"route_prefixes":          "matches a prefix in [[route_prefixes]]",
		"server.default_provider": "has no mapping or route and goes to server.default_provider",
	}[e.By]
	order := ""
	if len(e.Chain) > 1 {
		order = ", in this order"
	}
	fmt.Fprintf(w, "%q %s%s:\n", e.Model, why, order)
	for i, s := range e.Chain {
		fmt.Fprintf(w, "%3d. %s: requests %q from %s with %s\n", i+1, s.Upstream, s.UpstreamModel, s.Origin, s.credential())
	}
	if len(e.Chain) > 1 {
		fmt.Fprintf(w, "Only %s counts tokens.\n", e.Chain[0].Upstream)
	}
}

// credential describes what is sent to an upstream.
func (s *step) credential() string {
	switch {
	case s.ClientCredential != nil && *s.ClientCredential:
		return "the client's own credential"
	case s.ClientCredential != nil:
		return "no credential (the client's own is sent only if the first upstream passes it through too and has the same origin)"
	case s.KeyEnv != "":
		return fmt.Sprintf("the key in $%s (%s)", s.KeyEnv, s.KeyHeader)
	case len(s.Accounts) == 0:
		return "an account of the store"
	}
	names := make([]string, len(s.Accounts))
	for i, a := range s.Accounts {
		switch names[i] = a.Name; {
		case a.TokenEnv != "":
			names[i] += " (the token in $" + a.TokenEnv + ")"
		case a.Credentials:
			names[i] += " (a file outside the store)"
		}
		if a.Disabled {
			names[i] += " (disabled)"
		}
	}
	if len(names) == 1 {
		return "the account " + names[0]
	}
	return "one of the accounts " + strings.Join(names, ", ")
}
