package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"shunt/internal/family"
	"shunt/internal/oauth"
	"shunt/internal/userfile"
)

// maxConfig is the size limit of Claude Code's global configuration, in bytes. It contains histories, so it may be large.
const maxConfig = 64 << 20

// findOrigin returns the login of Claude Code in $CLAUDE_CREDENTIALS, in $CLAUDE_CONFIG_DIR, or in the home directory
// (LOG-5). The files need not exist.
//
// The configuration must belong to the credentials, or the tokens would be attributed to another account. So a login in
// $CLAUDE_CONFIG_DIR takes precedence over the one in the home directory, and so does a configuration beside
// $CLAUDE_CREDENTIALS.
func findOrigin(getenv func(string) string) (family.Origin, error) {
	credentials, config := getenv("CLAUDE_CREDENTIALS"), ""
	home, err := userfile.Home(getenv)
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		config = filepath.Join(dir, ".claude.json")
		if own := filepath.Join(dir, ".credentials.json"); credentials == "" && (exists(own) || err != nil) {
			credentials = own
		}
	} else if beside := filepath.Join(filepath.Dir(credentials), ".claude.json"); credentials != "" && exists(beside) {
		config = beside
	}
	if err != nil && (credentials == "" || config == "") {
		return family.Origin{}, errors.New("cannot find the login of Claude Code without a home directory: set CLAUDE_CREDENTIALS and CLAUDE_CONFIG_DIR")
	}
	if credentials == "" {
		credentials = filepath.Join(home, ".claude", ".credentials.json")
	}
	if config == "" {
		config = filepath.Join(home, ".claude.json")
	}
	return family.Origin{
		Credentials: credentials, Profile: config,
		Owner: func() (oauth.Owner, error) { return readOwner(config) },
	}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readOwner returns the owner of the login in Claude Code's global configuration.
func readOwner(path string) (oauth.Owner, error) {
	owner, err := parseConfig(path)
	if err != nil {
		return oauth.Owner{}, fmt.Errorf("cannot determine whose login it is: %w", err)
	}
	return owner, nil
}

func parseConfig(path string) (oauth.Owner, error) {
	content, err := readRegular(path)
	if err != nil {
		return oauth.Owner{}, err
	}
	text, err := userfile.Text(content)
	if err != nil {
		return oauth.Owner{}, fmt.Errorf("%s %w", path, err)
	}
	var config struct {
		OAuthAccount struct {
			AccountUUID      string `json:"accountUuid"`
			OrganizationUUID string `json:"organizationUuid"`
		} `json:"oauthAccount"`
	}
	err = json.Unmarshal(text, &config) // a field of another type does not lose the others
	account := config.OAuthAccount
	if uuid := oauth.ParseUUID(account.AccountUUID); uuid != "" {
		return oauth.Owner{Account: uuid, Organization: oauth.ParseUUID(account.OrganizationUUID)}, nil
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return oauth.Owner{}, fmt.Errorf("%s is not valid JSON", path)
	}
	return oauth.Owner{}, fmt.Errorf("%s has no oauthAccount.accountUuid", path)
}

// readRegular reads a file. It fails for one that could block or is too large.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil, fmt.Errorf("%s is not a file of at most %d bytes", path, maxConfig)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxConfig))
}
