package sim

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
)

// Person answers the authorize page of a [Provider] in a browser.
type Person struct {
	Account string       // whom to log in as; empty denies
	Client  *http.Client // the browser; nil is the default client
}

// Answer opens the page, decides, and follows the redirect to its end. It returns the code that the last page shows, for
// pasting, or nothing if it shows none; an error if that page has no status 200.
func (p Person) Answer(ctx context.Context, authorizeURL string) (code string, err error) {
	decision := "&deny=true"
	if p.Account != "" {
		decision = "&account=" + p.Account
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, authorizeURL+decision, nil)
	if err != nil {
		return "", err
	}
	client := p.Client
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
		return "", fmt.Errorf("the browser shows status %d: %s", response.StatusCode, page)
	}
	_, rest, _ := strings.Cut(string(page), "<code>")
	code, _, _ = strings.Cut(rest, "</code>")
	return html.UnescapeString(code), nil
}
