package admin

import (
	"fmt"
	"net/http"
	"strings"

	"shunt/internal/hosts"
)

// loginForm serves the login form, or redirects a browser that is logged in to the page.
func (a *Admin) loginForm(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.sessions.of(r); ok {
		http.Redirect(w, r, "/admin", http.StatusSeeOther)
		return
	}
	a.showLogin(w, http.StatusOK, "")
}

// login opens a session for a token that can write (ADM-2).
func (a *Admin) login(w http.ResponseWriter, r *http.Request) {
	local, https := a.connection(r)
	switch {
	case hosts.CrossOrigin(r):
		a.showLogin(w, http.StatusForbidden, "The login was sent from another site. Log in here.")
		return
	case !local && !https:
		a.showLogin(w, http.StatusForbidden, "Logging in requires HTTPS: open this page over HTTPS, or on the machine itself. "+
			"If a reverse proxy provides HTTPS, set server.access_control.trust_forwarded_for and list the proxy in trusted_proxies.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	if err := r.ParseForm(); err != nil {
		a.showLogin(w, http.StatusBadRequest, "Could not read the form. Try again.")
		return
	}
	token := strings.TrimSpace(r.PostForm.Get("token"))
	switch max(a.keys.tokens.of(token), a.keys.named.of(token)) {
	case none:
		if wait := a.failed(w, r, "form"); wait > 0 {
			a.showLogin(w, http.StatusTooManyRequests, fmt.Sprintf("Too many wrong tokens from your address. Try again in %d s. A valid token is always accepted.", seconds(wait)))
			return
		}
		a.showLogin(w, http.StatusUnauthorized, "That is not an admin token of this gateway. Enter the token alone or as name:token.")
		return
	case reader:
		a.showLogin(w, http.StatusUnauthorized, "This key is read-only. Log in with an admin token or a write key.")
		return
	}
	cookie := a.sessions.open()
	http.SetCookie(w, &http.Cookie{
		Name: sessionCookie, Value: cookie, Path: "/admin", MaxAge: int(a.Settings.SessionTTL.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: !local || https,
	})
	http.Redirect(w, r, "/admin", http.StatusSeeOther)
}

func (a *Admin) logout(w http.ResponseWriter, r *http.Request) {
	a.sessions.end(r)
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Path: "/admin", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
}
