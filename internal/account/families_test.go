package account_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"shunt/internal/account"
	"shunt/internal/family/claude"
	"shunt/internal/identity"
	"shunt/internal/oauth"
	"shunt/internal/secret"
	"shunt/internal/store"
)

// refresher is the token endpoint of one family. It issues a token with the family's name in it.
type refresher string

func (r refresher) Refresh(_ context.Context, login oauth.Credential) (oauth.Grant, error) {
	if login.Refresh.Reveal() != "tok-ort-"+string(r) {
		return oauth.Grant{}, fmt.Errorf("a token of another family")
	}
	return oauth.Grant{AccessToken: secret.New("tok-new-" + string(r)), RefreshToken: secret.New("tok-ort2-" + string(r)), Lifetime: time.Hour}, nil
}

// ID-1, ACC-3: one keeper has the accounts of several families. Each has its own store and token endpoint, and entries of
// one name, or even of one UUID, are different identities.
func TestFamilies(t *testing.T) {
	in(t, func(w *world) {
		var families []account.Family
		listings := map[string]account.Listing{}
		for _, name := range []string{"one", "two"} {
			dir := "/store/" + name
			families = append(families, account.Family{Name: name, Login: name + "store", Format: claude.Family.Credentials, Refresher: refresher(name), Dir: dir})
			listings["store-"+name] = account.Listing{Family: name}
			listings["uuid-"+name] = account.Listing{Family: name, Specs: []account.Spec{{Name: "b", UUID: "u-1", Credentials: "/shared/b.json"}}}
			if _, err := w.disk.open(dir).Put(w.Context(), "a.json", []byte(w.file("tok-oat-"+name, "tok-ort-"+name, time.Now()))); err != nil {
				w.Fatal(err)
			}
		}
		text := w.file("tok-oat-shared", "tok-ort-shared", time.Now().Add(time.Hour))
		if _, err := w.disk.open("/shared").Put(w.Context(), "b.json", []byte(text)); err != nil {
			w.Fatal(err)
		}
		keeper := account.NewKeeper(account.Options{Families: families, Open: func(dir string) store.Store { return w.disk.open(dir) }})
		accounts, _ := keeper.Resolve(listings)
		for _, name := range []string{"one", "two"} {
			stored, listed := accounts["store-"+name][0], accounts["uuid-"+name][0]
			w.wants("stored key", stored.Key(), identity.OfStoreEntry(name, "a"))
			w.wants("listed key", listed.Key(), identity.OfAccount(name, "u-1", ""))
			w.wants("token", w.token(stored), "tok-new-"+name)
			w.wants("remedy", stored.Remedy(), "`shunt login "+name+"store --name a` logs in again")
			doc, err := w.disk.open("/store/"+name).Get(w.Context(), "a.json")
			w.wants("file", string(doc.Data), w.file("tok-new-"+name, "tok-ort2-"+name, time.Now().Add(time.Hour)))
			w.wants("error", err, nil)
		}
		if err := keeper.Close(w.Context()); err != nil {
			w.Error(err)
		}
	})
}
