package account_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/account"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/secret"
)

var loggedIn = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func grantOf(name string) oauth.Grant {
	return oauth.Grant{
		AccessToken: secret.New("tok-oat-" + name), RefreshToken: secret.New("tok-ort-" + name), Lifetime: time.Hour,
		Owner: oauth.Owner{Account: "uuid-" + name, Organization: "org-" + name},
	}
}

func openStore(t *testing.T) *account.Store {
	return account.OpenStore(filepath.Join(t.TempDir(), "accounts", "claude"), claude.Family.Credentials)
}

func add(t *testing.T, s *account.Store, name string, kind oauth.Kind, g oauth.Grant) {
	t.Helper()
	if err := s.Add(t.Context(), name, kind, g, loggedIn); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// ACC-3: the formats that a login stores, in private files.
func TestStoreShapes(t *testing.T) {
	s := openStore(t)
	add(t, s, "work", oauth.Renewable, grantOf("a&b"))
	want := `{
  "claudeAiOauth": {
    "accessToken": "tok-oat-a&b",
    "refreshToken": "tok-ort-a&b",
    "expiresAt": 1772370000000
  },
  "shuntAccountUuid": "uuid-a&b",
  "shuntOrganizationUuid": "org-a&b"
}
`
	if diff := cmp.Diff(want, content(t, s.Path("work"))); diff != "" {
		t.Error(diff)
	}
	unknown := grantOf("c")
	unknown.Owner = oauth.Owner{}
	add(t, s, "unknown", oauth.Renewable, unknown)
	if text := content(t, s.Path("unknown")); strings.Contains(text, "shunt") {
		t.Error(text)
	}
	add(t, s, "setup", oauth.SetupToken, grantOf("d"))
	want = `{
  "claudeAiOauth": {
    "accessToken": "tok-oat-d",
    "expiresAt": 1772370000000,
    "shuntCredentialKind": "setup_token"
  },
  "shuntAccountUuid": "uuid-d",
  "shuntOrganizationUuid": "org-d"
}
`
	if diff := cmp.Diff(want, content(t, s.Path("setup"))); diff != "" {
		t.Error(diff)
	}
	if file, dir := mode(t, s.Path("work")), mode(t, filepath.Dir(s.Path("work"))); file != 0o600 || dir != fs.ModeDir|0o700 {
		t.Errorf("modes %v %v", file, dir)
	}
}

// LOG-6: an entry is replaced as a whole; a keeper uses it under the account's own identity.
func TestStoreReplaces(t *testing.T) {
	in(t, func(w *world) {
		dir := onDisk(w)
		s := account.OpenStore(filepath.Join(dir, storeDir), claude.Family.Credentials)
		for _, g := range []oauth.Grant{grantOf("old"), grantOf("new")} {
			if err := s.Add(w.Context(), "work", oauth.Renewable, g, time.Now()); err != nil {
				w.Fatal(err)
			}
			a := w.account()
			w.wants("token", w.token(a), g.AccessToken.Reveal())
			w.wants("key", a.Key(), identity.OfAccount("claude", g.Owner.Account, ""))
			w.wants("refreshable", a.Refreshable(), true)
		}
		if err := s.Add(w.Context(), "work", oauth.SetupToken, grantOf("setup"), time.Now()); err != nil {
			w.Fatal(err)
		}
		w.wants("refreshable", w.account().Refreshable(), false)
		files, err := os.ReadDir(filepath.Join(dir, storeDir))
		if err != nil || len(files) != 1 {
			w.Errorf("%v (%v)", files, err)
		}
		if err := s.Remove(w.Context(), "work"); err != nil {
			w.Error(err)
		}
		w.wants("accounts", len(w.accounts()), 0)
		w.close()
	})
}

// LOG-6: an unusable login does not replace a usable one.
func TestStoreRefusesBadTokens(t *testing.T) {
	s := openStore(t)
	add(t, s, "work", oauth.Renewable, grantOf("good"))
	bad := grantOf("bad")
	bad.AccessToken = secret.New("tok-oat with space")
	for _, name := range []string{"work", "new"} {
		if err := s.Add(t.Context(), name, oauth.Renewable, bad, loggedIn); err == nil || strings.Contains(err.Error(), "tok-") {
			t.Error(err)
		}
	}
	entries, err := s.Entries(t.Context())
	if err != nil || len(entries) != 1 || entries[0].AccountUUID != "uuid-good" {
		t.Errorf("%+v (%v)", entries, err)
	}
}

// ACC-4: a name is a file of the store and nothing else.
func TestStoreNames(t *testing.T) {
	s := openStore(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "A", "ä", "a_b", "a.json", "a\n", "-\x00"} {
		for what, err := range map[string]error{
			"add": s.Add(t.Context(), name, oauth.Renewable, grantOf("a"), loggedIn), "import": s.Import(t.Context(), name, "/nowhere", nil),
			"remove": s.Remove(t.Context(), name), "check": account.CheckName(name),
		} {
			if !errors.Is(err, account.ErrName) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	if err := account.CheckName("team-2"); err != nil {
		t.Error(err)
	}
}

// ADM-5: the list of entries has their owners and problems, and never a token.
func TestStoreEntries(t *testing.T) {
	s := openStore(t)
	if entries, err := s.Entries(t.Context()); err != nil || len(entries) != 0 {
		t.Errorf("a store that does not exist: %v, %v", entries, err)
	}
	add(t, s, "work", oauth.Renewable, grantOf("w"))
	add(t, s, "setup", oauth.SetupToken, grantOf("s"))
	dir := filepath.Dir(s.Path("x"))
	for name, text := range map[string]string{
		"by-hand.json": `{"claudeAiOauth":{"accessToken":"tok-1"},"shuntAccountUuid":"no uuid!"}`, "broken.json": `{"claudeAiOauth":{"accessToken":"tok-2"`,
		"Upper.json": `{}`, "notes.txt": "x", "work.json.lock": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("work.json", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	entries, err := s.Entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		line := fmt.Sprint(e.Name, " ", e.Kind, " ", e.AccountUUID, " ", e.OrganizationUUID, " ", e.Expires.Unix(), " ", e.Problem)
		got = append(got, line)
		if e.Path != s.Path(e.Name) {
			t.Errorf("path %s", e.Path)
		}
	}
	none := time.Time{}.Unix()
	if diff := cmp.Diff([]string{
		fmt.Sprint(`Upper    `, none, ` account name "Upper": a name has only a-z, 0-9 and -`),
		fmt.Sprint(`broken    `, none, ` the file is not valid JSON (truncated?)`),
		fmt.Sprint(`by-hand imported   `, none, ` <nil>`),
		`setup setup_token uuid-s org-s 1772370000 <nil>`,
		`work imported uuid-w org-w 1772370000 <nil>`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

// ADM-5: removing an entry removes nothing else.
func TestStoreRemove(t *testing.T) {
	s := openStore(t)
	if err := s.Remove(t.Context(), "work"); !errors.Is(err, account.ErrNoEntry) {
		t.Errorf("no store: %v", err)
	}
	add(t, s, "work", oauth.Renewable, grantOf("w"))
	add(t, s, "other", oauth.Renewable, grantOf("o"))
	if err := os.Symlink(s.Path("other"), s.Path("link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"work", "link"} {
		if err := s.Remove(t.Context(), name); err != nil {
			t.Error(err)
		}
		if err := s.Remove(t.Context(), name); !errors.Is(err, account.ErrNoEntry) {
			t.Errorf("%s twice: %v", name, err)
		}
	}
	if entries, err := s.Entries(t.Context()); err != nil || len(entries) != 1 || entries[0].Name != "other" {
		t.Errorf("%+v (%v)", entries, err)
	}
}

// TOK-7: the condition of a store entry that needs a login names the command; that of another file does not.
func TestNeedsLoginNamesTheCommand(t *testing.T) {
	in(t, func(w *world) {
		w.write("work.json", w.file("tok-oat-w#0", "tok-ort-w#0", time.Now()))
		if _, err := w.disk.open("/home").Put(w.Context(), "mine.json", []byte(w.file("tok-oat-m#0", "tok-ort-m#0", time.Now()))); err != nil {
			w.Fatal(err)
		}
		accounts, _ := w.keeper.Resolve(listings(sets{"p": {{Name: "work"}, {Name: "mine", Credentials: "/home/mine.json"}}}))
		for _, a := range accounts["p"] {
			token, err := a.Token(w.Context())
			w.fails(token, err, account.ErrNeedsLogin)
		}
		var got []string
		for _, c := range w.health.List() {
			got = append(got, c.Name+": "+c.Detail)
		}
		slices.Sort(got)
		if len(got) != 2 || strings.Contains(got[0], "shunt login") || !strings.HasPrefix(got[0], "account p/mine needs login: ") ||
			!strings.HasSuffix(got[1], "; `shunt login claude --name work` logs in again") {
			w.Errorf("conditions %q", got)
		}
		w.close()
	})
}
