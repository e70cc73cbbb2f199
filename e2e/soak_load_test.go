package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"shunt/internal/sim"
)

// The provider sends back the request's echo, and the account whose token it received, in these response headers.
const (
	echoHeader    = "X-Soak-Echo"
	accountHeader = "X-Soak-Account"
)

// echoing adds these headers to every response of the provider, whatever fault hits it.
func echoing(p http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(accountHeader, accountOf(r.Header))
		w.Header().Set(echoHeader, r.Header.Get(echoHeader))
		p.ServeHTTP(w, r)
	})
}

// accountOf returns the account whose token the simulated provider received, which is sk-ant-oat01-NAME-...
func accountOf(h http.Header) string {
	if token := strings.Split(h.Get("Authorization"), "-"); len(token) > 4 {
		return token[3]
	}
	return ""
}

// load sends requests of several sessions to a gateway and counts the results.
type load struct {
	url    string
	client *http.Client

	mu          sync.Mutex
	total       int
	byStatus    map[int]int
	completed   int
	served      map[string]int // responses of status 200, by x-shunt-account
	aborted     int            // streams that ended early
	abandoned   int            // streams that the client closed
	problems    []string       // the first few
	numProblems int            // including those not kept
}

func newLoad(url string, sessions int) *load {
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: sessions}
	return &load{url: url, client: &http.Client{Transport: transport}, byStatus: map[int]int{}, served: map[string]int{}}
}

// requestTimeout is much longer than any fault lasts: a request that takes longer hangs.
const requestTimeout = 60 * time.Second

// run sends requests in all sessions until ctx ends and returns when every response has arrived.
func (l *load) run(ctx context.Context, sessions int, seed uint64) {
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			session := ""
			for n := 0; ctx.Err() == nil; n++ {
				if n%20 == 0 {
					session = fmt.Sprintf("soak-%d-%d-%016x", i, n, rng.Uint64())
				}
				l.send(session, rng)
				select {
				case <-time.After(time.Duration(rng.IntN(500)) * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	all.Wait()
	l.client.CloseIdleConnections()
}

// send sends a unique request, checks the response, and reports whether that was complete.
func (l *load) send(session string, rng *rand.Rand) bool {
	echo := fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
	size := 512 + rng.IntN(16<<10)
	if rng.IntN(50) == 0 {
		size = 300 << 10
	}
	stream := rng.IntN(5) > 0
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"%s %s"}],"metadata":{"user_id":"{\"account_uuid\":\"of the client\"}"},"max_tokens":400,"stream":%v}`,
		model, echo, strings.Repeat("soak ", size/5), stream)
	leave := stream && rng.IntN(25) == 0

	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+sim.MessagesPath+"?beta=true", strings.NewReader(body))
	if err != nil {
		panic(err) // the URL is wrong
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}, "Authorization": {"Bearer " + clientToken},
		"X-Claude-Code-Session-Id": {session}, echoHeader: {echo},
	}
	response, err := l.client.Do(r)
	if err != nil {
		l.count(0, "", "no response: %v", err)
		return false
	}
	defer response.Body.Close()
	account := response.Header.Get("X-Shunt-Account")
	l.count(response.StatusCode, account, "")
	if why := misplaced(response, account, echo); why != "" {
		l.problem("status %d: %s", response.StatusCode, why)
	}
	if leave && response.StatusCode == http.StatusOK {
		_, _ = response.Body.Read(make([]byte, 1))
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.abandoned++
		return false
	}
	return l.check(response, body)
}

// misplaced explains why a response does not belong to the request with the echo or to the account it names, or returns "".
func misplaced(response *http.Response, account, echo string) string {
	got, from := response.Header[echoHeader], response.Header.Get(accountHeader)
	switch {
	case len(got) > 1 || len(got) == 1 && got[0] != echo:
		return fmt.Sprintf("it is the response to request %q, not %q", got, echo)
	case len(got) == 0 && (account != "" || response.StatusCode == http.StatusOK):
		return "it has no request echo"
	case account != "" && account != from:
		return fmt.Sprintf("x-shunt-account is %q, the upstream saw the token of %q", account, from)
	}
	return ""
}

// check reads the response to its end. It counts the outcomes that faults can cause; any other is a problem.
func (l *load) check(response *http.Response, body string) bool {
	got, err := sim.ReadResponse(response)
	if err == nil {
		err = got.Verify([]byte(body))
	}
	var apiErr *sim.APIError
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.completed++
		return true
	case errors.Is(err, context.DeadlineExceeded):
		l.note("status %d: the response hangs", response.StatusCode)
	case errors.Is(err, sim.ErrTruncated), errors.As(err, &apiErr) && apiErr.Status == http.StatusOK && got.ID != "":
		l.aborted++
	case apiErr != nil && (apiErr.Status == http.StatusOK || apiErr.Status == http.StatusTooManyRequests || apiErr.Status >= 500):
	default:
		l.note("status %d: %v", response.StatusCode, err)
	}
	return false
}

func (l *load) count(status int, account, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	l.byStatus[status]++
	if status == http.StatusOK && account != "" {
		l.served[account]++
	}
	if format != "" {
		l.note(format, args...)
	}
}

func (l *load) problem(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(format, args...)
}

// note records a problem. The caller holds the lock.
func (l *load) note(format string, args ...any) {
	if l.numProblems++; l.numProblems <= 10 {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}
