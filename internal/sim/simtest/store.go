package simtest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing/synctest"
	"time"

	"shunt/internal/store"
)

// Entry returns the path of an account's entry in the store.
func (w *World) Entry(account string) string { return filepath.Join(w.Store, account+".json") }

// Put writes an account's entry in the store as careful programs do, by a rename.
func (w *World) Put(account string, credentials []byte) {
	w.Helper()
	w.Replace(w.Entry(account), credentials)
}

// Replace writes a file by a rename.
func (w *World) Replace(path string, data []byte) {
	w.Helper()
	w.Must(os.WriteFile(path+".new", data, 0o600))
	w.Must(os.Rename(path+".new", path))
}

// Remove removes an account's entry from the store.
func (w *World) Remove(account string) {
	w.Helper()
	w.Must(os.Remove(w.Entry(account)))
}

// Second lets the time pass that it may take to notice a change of the store (ACC-4).
func Second() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// Stale makes the access token in a store entry an expired one, for the entry and for the provider.
func (w *World) Stale(account string) {
	w.Helper()
	w.Provider.ExpireTokens(account)
	w.Put(account, Expiring(w.Provider.Credentials(account), -time.Minute))
}

// Lock takes the lock of a store entry, as another process would.
func (w *World) Lock(account string) (unlock func()) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Second)
	defer cancel()
	lease, err := store.NewDir(w.Store).Lease(ctx, account+".json")
	if err != nil {
		w.Errorf("the lock is held: %v", err)
		return func() {}
	}
	return lease.Release
}

// Login is what a credentials file contains.
type Login struct{ AccessToken, RefreshToken string }

// LoginIn returns the login in a credentials file.
func (w *World) LoginIn(path string) Login {
	w.Helper()
	data, err := os.ReadFile(path)
	w.Must(err)
	return w.login(data)
}

// NewestLogin returns the login that the provider issued last for an account.
func (w *World) NewestLogin(account string) Login {
	w.Helper()
	return w.login(w.Provider.Credentials(account))
}

func (w *World) login(credentials []byte) Login {
	w.Helper()
	var file struct{ ClaudeAiOauth Login }
	w.Must(json.Unmarshal(credentials, &file))
	return file.ClaudeAiOauth
}

// WantSaved reports an error unless an account's newest login is in its store entry.
func (w *World) WantSaved(account string) {
	w.Helper()
	synctest.Wait()
	if w.LoginIn(w.Entry(account)) != w.NewestLogin(account) {
		w.Errorf("the newest login of %s is not on disk", account)
	}
}

// Edited returns a credentials file after a change of its top level.
func Edited(credentials []byte, change func(file map[string]any)) []byte {
	var file map[string]any
	if err := json.Unmarshal(credentials, &file); err != nil {
		panic(err)
	}
	change(file)
	data, err := json.Marshal(file)
	if err != nil {
		panic(err)
	}
	return data
}

// Expiring returns a credentials file whose access token has that long to live.
func Expiring(credentials []byte, left time.Duration) []byte {
	return Edited(credentials, func(file map[string]any) {
		file["claudeAiOauth"].(map[string]any)["expiresAt"] = time.Now().Add(left).UnixMilli()
	})
}

// Owned returns a credentials file with the owner of its account; an empty organization is left out.
func Owned(credentials []byte, uuid, organization string) []byte {
	return Edited(credentials, func(file map[string]any) {
		file["shuntAccountUuid"] = uuid
		if organization != "" {
			file["shuntOrganizationUuid"] = organization
		}
	})
}
