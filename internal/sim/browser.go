package sim

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
)

// Browser opens a [Provider]'s authorize page and decides, as a user would.
type Browser struct {
	Account string       // the account to log in as; empty denies the login
	Client  *http.Client // nil means http.DefaultClient
}

// Authorize opens the authorize page, allows or denies the login, and follows the redirects. It returns the code that the last
// page shows for pasting, or "" if it shows none. It returns an error if the status of that page is not 200.
func (b Browser) Authorize(ctx context.Context, authorizeURL string) (code string, err error) {
	decision := "&deny=true"
	if b.Account != "" {
		decision = "&account=" + b.Account
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, authorizeURL+decision, nil)
	if err != nil {
		return "", err
	}
	client := b.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the authorize page ended with status %d: %s", response.StatusCode, page)
	}
	_, rest, _ := strings.Cut(string(page), "<code>")
	code, _, _ = strings.Cut(rest, "</code>")
	return html.UnescapeString(code), nil
}
