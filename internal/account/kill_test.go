package account_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/clock"
	"shunt/internal/oauth"
)

const (
	kills       = 80 // for each family
	children    = 2
	strictKills = 60 // for each family

	childEnv = "SHUNT_TEST_CHILD" // endpoint, name of the family and credentials file, separated by spaces
)

// ofEach runs a test for the logins of each family, in a directory of its own.
func ofEach(t *testing.T, test func(p *provider)) {
	for _, f := range forms {
		t.Run(f.family.Name, func(t *testing.T) {
			p := &provider{
				T: t, form: f, path: filepath.Join(t.TempDir(), ".credentials.json"), replied: make(chan struct{}),
				start: time.Now().Truncate(time.Second),
			}
			if err := os.WriteFile(p.path, []byte(p.file(0, time.Unix(1, 0), time.Unix(0, 0))), 0o644); err != nil {
				t.Fatal(err)
			}
			test(p)
		})
	}
}

// TestKilled kills processes that refresh one credentials file in a tight loop, at random moments, every other time right
// after the token endpoint has replied. The endpoint rotates with every call, and takes two refresh tokens: the newest
// one it gave out, and the one that was exchanged for it, whose response a kill may have lost; of two that were given for one,
// because a killed process had sent it as well, it takes either. What is asserted:
//
//   - after each kill, while another process goes on, the file is whole: it holds a login, all that shunt does not own is
//     there byte for byte, and its mode is 0600 (TOK-6, ACC-1);
//   - its refresh token is the newest one of the endpoint, or the one that was exchanged for the newest: at most the one
//     rotation in flight is missing, and the endpoint never has to refuse a token (TOK-5);
//   - whenever a process uses an access token, the file holds that one or a newer one (TOK-5: durable before use);
//   - a lock or a temporary file of a killed process stops nobody.
func TestKilled(t *testing.T) { ofEach(t, testKilled) }

func testKilled(p *provider) {
	server := httptest.NewServer(p)
	defer server.Close()

	running := make([]*child, children)
	for i := range running {
		running[i] = p.startChild(server.URL)
	}
	lost := 0
	for n := range kills {
		i := rand.N(children)
		p.awaitReply(running) // so that every process gets to work before it is killed
		if n%2 == 0 {
			p.awaitReply(running)
		}
		time.Sleep(rand.N(4 * time.Millisecond))
		running[i].kill()
		if p.check() {
			lost++
		}
		running[i] = p.startChild(server.URL)
	}
	for _, c := range running {
		p.awaitReply(running)
		c.kill()
	}
	p.check()
	p.Logf("%d rotations; %d of %d kills lost the one in flight; %d uses", p.newest, lost, kills, p.uses)
}

// TestKilledWithStrictRotation kills one process after the other, at random moments, before an endpoint that takes each
// refresh token once. Every process has to begin with the newest login of the endpoint, and none may send a spent one
// (TOK-6b). One loss cannot be prevented: a process that is killed after the endpoint has exchanged its token and
// before the new login is whole in a temporary file. The test recognizes that by the files that are left, and logs in again.
func TestKilledWithStrictRotation(t *testing.T) { ofEach(t, testKilledWithStrictRotation) }

func testKilledWithStrictRotation(p *provider) {
	p.strict = true
	lost, recovered := 0, 0
	for n := range strictKills {
		server := httptest.NewServer(p)
		c := p.startChild(server.URL)
		p.awaitReply([]*child{c})
		if n%2 == 0 {
			p.awaitReply([]*child{c})
		}
		time.Sleep(rand.N(4 * time.Millisecond))
		c.kill()
		server.Close() // what the process sent has been served, or never will be
		p.mu.Lock()
		switch {
		case p.saved() == p.newest:
		case p.orphaned():
			recovered++
		default:
			lost++
			p.newest++
			if err := os.WriteFile(p.path, []byte(p.file(p.newest, time.Unix(1, 0), time.Unix(0, 0))), 0o600); err != nil {
				p.Fatal(err)
			}
		}
		p.starting = true
		p.mu.Unlock()
	}
	p.Logf("%d rotations; of %d kills %d left the newest login in a temporary file, and %d before it was there", p.newest, strictKills, recovered, lost)
}

// orphaned reports whether a temporary file has the newest login, whole.
func (p *provider) orphaned() bool {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(p.path), "."+filepath.Base(p.path)+"[0-9]*"))
	if err != nil {
		p.Error(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && json.Valid(text) && strings.Contains(string(text), fmt.Sprintf("%q", fmt.Sprint("ort-", p.newest))) {
			return true
		}
	}
	return false
}

// provider is the token endpoint, and the API in whose requests tokens are used. Tokens are numbered.
type provider struct {
	*testing.T
	form  form
	path  string
	start time.Time

	mu        sync.Mutex
	newest    int // the number of the newest login
	exchanged int // the number of the refresh token that it was given for
	first     int // the first login that was given for it: a late request of a killed process may have got another
	uses      int
	replied   chan struct{} // closed after the next reply

	strict   bool // a refresh token is good once
	starting bool // no process has done anything since the last kill
}

// file returns the credentials file with the login of that number. Except for the first, its access token is the one that the
// endpoint gave out.
func (p *provider) file(n int, expires, refreshed time.Time) string {
	access := p.access(n)
	if n == 0 {
		access = p.form.token("oat-0", expires)
	}
	return p.form.file(access, fmt.Sprint("ort-", n), expires, refreshed)
}

// lifetime is that of the access token with that number. The clock of a process runs ahead, so that of its successor would have
// newer tokens expire earlier.
func lifetime(n int) time.Duration { return time.Duration(28800+100_000*n) * time.Second }

func (p *provider) access(n int) string {
	return p.form.token(fmt.Sprint("oat-", n), p.start.Add(lifetime(n)))
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Path == "/use" {
		var used int
		token := nameOf(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		if _, err := fmt.Sscanf(token, "oat-%d", &used); err != nil {
			p.Errorf("use of %q: %v", r.Header.Get("Authorization"), err)
		}
		if saved := p.saved(); saved < used {
			p.Errorf("login %d is in use, and %d on disk", used, saved)
		}
		if p.starting && used != p.newest {
			p.Errorf("a process begins with login %d after %d was given out", used, p.newest)
		}
		p.starting = false
		p.uses++
		return
	}
	var presented int
	sent, err := refreshTokenIn(body)
	if err != nil || sent == "" {
		return // killed while it sent the request
	}
	if _, err := fmt.Sscanf(sent, "ort-%d", &presented); err != nil || !p.takes(presented) {
		p.Errorf("refresh token %q was sent after %d had been exchanged for %d", sent, p.exchanged, p.newest)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
		return
	}
	if p.newest++; presented != p.exchanged {
		p.exchanged, p.first = presented, p.newest
	}
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"refresh_token":"ort-%d","id_token":%q,"expires_in":%d}`,
		p.access(p.newest), p.newest, idToken(fmt.Sprint("oat-", p.newest)), int(lifetime(p.newest).Seconds()))
	_ = http.NewResponseController(w).Flush()
	close(p.replied)
	p.replied = make(chan struct{})
}

// takes reports whether the endpoint takes the refresh token with that number. The caller holds mu.
func (p *provider) takes(n int) bool {
	if p.strict {
		return n == p.newest
	}
	return n == p.exchanged || n >= p.first && n <= p.newest
}

// awaitReply waits for the next reply of the token endpoint. Every process must go on asking for one.
func (p *provider) awaitReply(running []*child) {
	p.Helper()
	p.mu.Lock()
	replied := p.replied
	p.mu.Unlock()
	ended := make(chan string, len(running))
	for _, c := range running {
		stop := context.AfterFunc(c.ended, func() { ended <- c.output.String() })
		defer stop()
	}
	for range running {
		select {
		case <-replied:
			return
		case output := <-ended:
			if output != "" {
				p.Fatalf("a process said: %s", output)
			}
		}
	}
	p.Fatal("no process is left")
}

// saved is the number of the login on disk. The caller holds mu, so that the endpoint stands still meanwhile.
func (p *provider) saved() int {
	text, err := os.ReadFile(p.path)
	if err != nil {
		p.Error(err)
		return -1
	}
	if !json.Valid(text) {
		p.Errorf("%q is not JSON", text)
		return -1
	}
	file, err := p.form.family.Credentials.Parse(text)
	if err != nil {
		p.Errorf("%v in %q", err, text)
		return -1
	}
	var n int
	if _, err := fmt.Sscanf(file.Refresh.Reveal(), "ort-%d", &n); err != nil {
		p.Errorf("%v in %q", err, text)
		return -1
	}
	access := file.Access.Reveal()
	want := p.form.file(access, fmt.Sprint("ort-", n), file.Expires, file.Refreshed)
	if string(text) != want || nameOf(access) != fmt.Sprint("oat-", n) {
		p.Errorf("file is %q, want %q", text, want)
	}
	return n
}

// check reports whether the rotation in flight is missing on disk.
func (p *provider) check() (lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.saved()
	if !p.takes(n) {
		p.Errorf("the file has login %d, after %d was exchanged for %d", n, p.exchanged, p.newest)
	}
	if info, err := os.Stat(p.path); err != nil || n > 0 && info.Mode() != 0o600 {
		p.Errorf("mode %v, %v", info.Mode(), err)
	}
	return n != p.newest
}

type child struct {
	*exec.Cmd
	output bytes.Buffer    // to be read when it has ended
	ended  context.Context // over when the process is
}

func (p *provider) startChild(url string) *child {
	p.Helper()
	ended, end := context.WithCancel(context.Background())
	c := &child{Cmd: exec.CommandContext(p.Context(), os.Args[0]), ended: ended}
	c.Env = append(os.Environ(), childEnv+"="+url+" "+p.form.family.Name+" "+p.path)
	c.Stdout, c.Stderr = &c.output, &c.output
	stdin, err := c.StdinPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.Fatal(err)
	}
	go func() {
		defer end()
		_ = c.Wait()
		_ = stdin.Close()
	}()
	p.Cleanup(c.kill)
	return c
}

func (c *child) kill() {
	_ = c.Process.Kill()
	<-c.ended.Done()
}

// childMain is the process that is killed, if this is one. It says nothing unless something is wrong.
func childMain() bool {
	args := strings.SplitN(os.Getenv(childEnv), " ", 3)
	if len(args) != 3 {
		return false
	}
	url, path := args[0], args[2]
	of := forms[slices.IndexFunc(forms, func(f form) bool { return f.family.Name == args[1] })]
	go func() { // an end for a child whose parent was killed itself
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	vendor := of.family.Vendor
	vendor.TokenURL = url + "/token"
	keeper := account.NewKeeper(account.Options{
		Clock:    clock.Accelerated(1000), // so that it does not wait between two refreshes
		Families: []account.Family{familyOf(of, oauth.NewClient(vendor, nil), filepath.Join(filepath.Dir(path), "store"))},
	})
	accounts, warnings := keeper.Resolve(listings(sets{"p": {{Name: "a", Credentials: path}}}))
	fmt.Print(strings.Join(warnings, "\n"))
	ctx, a := context.Background(), accounts["p"][0]
	go keeper.Run(ctx)
	token, err := a.Token(ctx)
	for err == nil {
		if err = use(ctx, url, token); err == nil {
			a.Confirm(token)
			token, err = a.Renew(ctx, token)
		}
	}
	fmt.Print(err)
	return true
}

func use(ctx context.Context, url string, token account.Token) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/use", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
