package simtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"shunt/internal/sim"
)

// Accounts returns n accounts named a, b, c ...
func Accounts(n int) []sim.Account {
	accounts := make([]sim.Account, n)
	for i := range accounts {
		accounts[i].Name = string(rune('a' + i))
	}
	return accounts
}

// WithKey returns n accounts as [Accounts] does, and a last one, named k, that is used with [PaidKey].
func WithKey(n int) []sim.Account {
	return append(Accounts(n), sim.Account{Name: "k", APIKey: PaidKey})
}

// PaidKey is an API key, for accounts that have one.
const PaidKey = "paid-key"

// Dial connects to the host at an address: the provider, unless [World.Serve] or [World.Unplug] has set another.
func (w *World) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	l, ok := w.hosts[address]
	w.mu.Unlock()
	if !ok {
		l = w.Upstream
	}
	return l.Dial(ctx, network, address)
}

// Serve has a handler serve an address, such as "other.example:80".
func (w *World) Serve(address string, h http.Handler) {
	server := sim.Serve(w.listen(address), h)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers = append(w.servers, server)
}

// Unplug has connections to an address fail.
func (w *World) Unplug(address string) { w.Must(w.listen(address).Close()) }

func (w *World) listen(address string) *sim.PipeListener {
	l := sim.Listen(address)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hosts == nil {
		w.hosts = map[string]*sim.PipeListener{}
	}
	w.hosts[address] = l
	return l
}

// Seen returns the number of requests that the provider has received, whatever their endpoint.
func (w *World) Seen() int { return len(w.Provider.Requests()) }

// Calls returns the accounts whose credentials the provider received with inference requests, in order, from the given number
// of requests on; see [World.Seen].
func (w *World) Calls(from int) []string {
	synctest.Wait()
	var accounts []string
	for _, r := range w.Provider.Requests()[from:] {
		if strings.HasPrefix(r.Path, sim.MessagesPath) {
			accounts = append(accounts, r.Account)
		}
	}
	return accounts
}

// Received returns the newest inference request that reached the provider.
func (w *World) Received() sim.Request {
	w.Helper()
	for _, r := range slices.Backward(w.Provider.Requests()) {
		if strings.Contains(r.Path, sim.MessagesPath) {
			return r
		}
	}
	w.Fatal("no request has reached the provider")
	return sim.Request{}
}

// Refreshes returns when the provider's token endpoint received requests.
func (w *World) Refreshes() (moments []time.Time) {
	synctest.Wait()
	for _, r := range w.Provider.Requests() {
		if r.Path == sim.TokenPath {
			moments = append(moments, r.Received)
		}
	}
	return moments
}

// Bearer returns the token of the last request that the provider received.
func (w *World) Bearer() string {
	synctest.Wait()
	requests := w.Provider.Requests()
	return strings.TrimPrefix(requests[len(requests)-1].Header.Get("Authorization"), "Bearer ")
}

// Direct sends a request to the provider itself, as account a.
func (w *World) Direct(target string, header http.Header, body string) Reply {
	w.Helper()
	transport := &http.Transport{DialContext: w.Upstream.Dial, DisableCompression: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, ProviderURL+target, strings.NewReader(body))
	w.Must(err)
	request.Header = With(header, "Authorization", "Bearer "+w.Provider.Token("a"))
	response, err := transport.RoundTrip(request)
	w.Must(err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return NewReply(response, data, err)
}
