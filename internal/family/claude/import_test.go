package claude_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shunt/internal/account"
	"shunt/internal/family"
	"shunt/internal/family/claude"
)

const (
	claudeLogin  = `{"claudeAiOauth":{"accessToken":"tok-oat","refreshToken":"tok-ort","expiresAt":1772370000000,"scopes":["x"]},"mcpOAuth":{"p|1":{"accessToken":"tok-foreign"}}}`
	claudeConfig = `{"numStartups":7,"oauthAccount":{"accountUuid":"u-1","emailAddress":"a@example.com","organizationUuid":"o-1"},"projects":{}}`
)

// write makes a file, with its directories.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

// originOf creates a login of Claude Code in a new home directory.
func originOf(t *testing.T, credentials, config string) family.Origin {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, ".claude", ".credentials.json"), credentials)
	write(t, filepath.Join(home, ".claude.json"), config)
	return find(t, map[string]string{"HOME": home})
}

// find returns the login that FindOrigin finds in an environment.
func find(t *testing.T, env map[string]string) family.Origin {
	t.Helper()
	origin, err := claude.Family.Program.FindOrigin(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return origin
}

func openStore(t *testing.T) *account.Store {
	return account.OpenStore(filepath.Join(t.TempDir(), "accounts", "claude"), claude.Family.Credentials)
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

// origin names the files of a login, for comparison.
type origin struct{ credentials, config string }

// ACC-3, LOG-5: the whole document is copied, byte for byte, with the account's UUID added; the source does not change.
func TestImport(t *testing.T) {
	for source, want := range map[string]string{
		claudeLogin: strings.TrimSuffix(claudeLogin, "}") + `,"shuntAccountUuid":"u-1","shuntOrganizationUuid":"o-1"}`,
		"{\n  \"a\": 1.50,\n  \"claudeAiOauth\" : {\"refreshToken\":\"tok-r\",\"accessToken\":\"tok-a\"}\n}\n": "{\n  \"a\": 1.50,\n  \"claudeAiOauth\" : {\"refreshToken\":\"tok-r\",\"accessToken\":\"tok-a\"}," +
			"\n  \"shuntAccountUuid\" : \"u-1\",\n  \"shuntOrganizationUuid\" : \"o-1\"\n}\n",
		// TOK-7f
		"\ufeff" + claudeLogin: strings.TrimSuffix(claudeLogin, "}") + `,"shuntAccountUuid":"u-1","shuntOrganizationUuid":"o-1"}`,
		`{"shuntAccountUuid":"old","claudeAiOauth":{"accessToken":"tok-a","refreshToken":"tok-r"}}`: `{"shuntAccountUuid":"u-1",` +
			`"claudeAiOauth":{"accessToken":"tok-a","refreshToken":"tok-r"},"shuntOrganizationUuid":"o-1"}`,
	} {
		s, from := openStore(t), originOf(t, source, claudeConfig)
		before, err := os.Stat(from.Credentials)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Import(t.Context(), "work", from.Credentials, from.Owner); err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(want, content(t, s.Path("work"))); diff != "" {
			t.Error(diff)
		}
		after, err := os.Stat(from.Credentials)
		if err != nil || content(t, from.Credentials) != source || after.ModTime() != before.ModTime() || after.Mode() != before.Mode() || !os.SameFile(before, after) {
			t.Errorf("the source was changed: %s (%v)", content(t, from.Credentials), err)
		}
		if mode(t, s.Path("work")) != 0o600 {
			t.Error(mode(t, s.Path("work")))
		}
		entries, err := s.Entries(t.Context())
		if err != nil || len(entries) != 1 || entries[0].Kind != account.Imported || entries[0].AccountUUID != "u-1" || entries[0].OrganizationUUID != "o-1" {
			t.Errorf("%+v (%v)", entries, err)
		}
	}
}

// LOG-5: Claude Code's configuration may be large, have unexpected values, and lack the organization.
func TestImportConfigurations(t *testing.T) {
	for name, config := range map[string]string{
		"large":             fmt.Sprintf(`{"history":%q,"oauthAccount":{"accountUuid":"u-1"}}`, strings.Repeat("x", 3<<20)),
		"of other types":    `{"oauthAccount":{"accountUuid":" u-1 ","organizationUuid":7},"projects":3}`,
		"an odd form":       `{"oauthAccount":{"accountUuid":"u-1","organizationUuid":"no uuid!"}}`,
		"no organization":   `{"oauthAccount":{"accountUuid":"u-1"}}`,
		"null organization": `{"oauthAccount":{"accountUuid":"u-1","organizationUuid":null}}`,
		"byte-order mark":   "\ufeff" + `{"oauthAccount":{"accountUuid":"u-1"}}`, // TOK-7f
	} {
		s := openStore(t)
		from := originOf(t, claudeLogin, config)
		if err := s.Import(t.Context(), "work", from.Credentials, from.Owner); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if text := content(t, s.Path("work")); !strings.HasSuffix(text, `,"shuntAccountUuid":"u-1"}`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// LOG-5: every failed import names the file, quotes no token, and leaves the existing entry alone.
func TestImportFailures(t *testing.T) {
	login := func(fields string) string { return `{"claudeAiOauth":{` + fields + `}}` }
	for _, tt := range []struct{ credentials, config, text string }{
		{"", claudeConfig, "credentials.json: the file is empty"},
		{claudeLogin[:40], claudeConfig, "credentials.json: the file is not valid JSON"},
		{`{"mcpOAuth":{"accessToken":"tok-x"}}`, claudeConfig, "credentials.json: the file has no claudeAiOauth login"},
		{login(`"refreshToken":"tok-r"`), claudeConfig, "credentials.json: the claudeAiOauth login has no accessToken"},
		{login(`"accessToken":"tok-a"`), claudeConfig, "credentials.json: the login has no refresh token"},
		{login(`"accessToken":"tok-a","refreshToken":""`), claudeConfig, "credentials.json: the login has no refresh token"},
		{login(`"accessToken":"tok-a","shuntCredentialKind":"setup_token"`), claudeConfig, "credentials.json: it is a setup token, not a login"},
		{claudeLogin, `{}`, ".claude.json has no oauthAccount.accountUuid"},
		{claudeLogin, `{"oauthAccount":{"accountUuid":"  "}}`, ".claude.json has no oauthAccount.accountUuid"},
		{claudeLogin, `{"oauthAccount":{"accountUuid":["u-1"]}}`, ".claude.json has no oauthAccount.accountUuid"},
		{claudeLogin, `{"oauthAccount":"tok-x`, ".claude.json is not valid JSON"},
	} {
		s, from := openStore(t), originOf(t, tt.credentials, tt.config)
		write(t, s.Path("work"), "before")
		err := s.Import(t.Context(), "work", from.Credentials, from.Owner)
		if err == nil || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "tok-") {
			t.Errorf("%s %s: %v", tt.credentials, tt.config, err)
		}
		if got := content(t, s.Path("work")); got != "before" {
			t.Errorf("%s: the entry is %q now", tt.text, got)
		}
	}
	for _, missing := range []func(family.Origin) error{
		func(o family.Origin) error { return os.Remove(o.Credentials) }, func(o family.Origin) error { return os.Remove(o.Profile) },
		func(o family.Origin) error {
			return errors.Join(os.Remove(o.Credentials), os.Mkdir(o.Credentials, 0o700))
		},
		func(o family.Origin) error { return errors.Join(os.Remove(o.Profile), os.Mkdir(o.Profile, 0o700)) },
	} {
		s, from := openStore(t), originOf(t, claudeLogin, claudeConfig)
		if err := missing(from); err != nil {
			t.Fatal(err)
		}
		if err := s.Import(t.Context(), "work", from.Credentials, from.Owner); err == nil || !strings.Contains(err.Error(), "/") {
			t.Error(err)
		}
		if _, err := os.Stat(s.Path("work")); err == nil {
			t.Error("something was stored")
		}
	}
}

// LOG-5: an import does not write through an entry that is a link to the source.
func TestImportOverLink(t *testing.T) {
	s, from := openStore(t), originOf(t, claudeLogin, claudeConfig)
	write(t, s.Path("other"), "x")
	if err := os.Symlink(from.Credentials, s.Path("work")); err != nil {
		t.Fatal(err)
	}
	if err := s.Import(t.Context(), "work", from.Credentials, from.Owner); err == nil || !strings.Contains(err.Error(), "is the login itself") {
		t.Error(err)
	}
	if got := content(t, from.Credentials); got != claudeLogin {
		t.Errorf("the source was changed: %s", got)
	}
}

// LOG-5: the paths of the login and of its configuration.
func TestFindOrigin(t *testing.T) {
	home := t.TempDir()
	own, beside := filepath.Join(home, "own"), filepath.Join(home, "beside")
	write(t, filepath.Join(own, ".credentials.json"), claudeLogin)
	write(t, filepath.Join(beside, ".claude.json"), claudeConfig)
	empty, away := filepath.Join(home, "empty"), filepath.Join(home, "away", "c.json")
	for _, tt := range []struct {
		env  map[string]string
		want origin
	}{
		{nil, origin{home + "/.claude/.credentials.json", home + "/.claude.json"}},
		{map[string]string{"CLAUDE_CREDENTIALS": away}, origin{away, home + "/.claude.json"}},
		{map[string]string{"CLAUDE_CONFIG_DIR": empty}, origin{home + "/.claude/.credentials.json", empty + "/.claude.json"}},
		{map[string]string{"CLAUDE_CONFIG_DIR": own}, origin{own + "/.credentials.json", own + "/.claude.json"}},
		{
			map[string]string{"CLAUDE_CONFIG_DIR": own, "CLAUDE_CREDENTIALS": away},
			origin{away, own + "/.claude.json"},
		},
		{
			map[string]string{"CLAUDE_CREDENTIALS": beside + "/c.json"},
			origin{beside + "/c.json", beside + "/.claude.json"},
		},
	} {
		env := map[string]string{"HOME": home}
		maps.Copy(env, tt.env)
		got := find(t, env)
		if (origin{got.Credentials, got.Profile}) != tt.want {
			t.Errorf("%v: %+v", tt.env, got)
		}
	}
}
