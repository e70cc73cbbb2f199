package admin

import (
	"fmt"
	"net/http"
	"strings"
)

// loginForm shows the login page, or the way on for whoever is logged in.
func (a *Admin) loginForm(w http.ResponseWriter, r *http.Request) {
	if _, ok := a.sessions.of(r); ok {
		http.Redirect(w, r, "/admin", http.StatusSeeOther)
		return
	}
	a.showLogin(w, http.StatusOK, "")
}

// login opens a session for whoever has a token that may write (ADM-2).
func (a *Admin) login(w http.ResponseWriter, r *http.Request) {
	local, https := a.reached(r)
	switch {
	case !sameOrigin(r):
		a.showLogin(w, http.StatusForbidden, "This login came from another page. Log in here.")
		return
	case !local && !https:
		a.showLogin(w, http.StatusForbidden, "A token must not travel unencrypted: open this page over https, or on the machine itself. "+
			"If a reverse proxy provides https, set server.access_control.trust_forwarded_for, and list the proxy in trusted_proxies.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	if err := r.ParseForm(); err != nil {
		a.showLogin(w, http.StatusBadRequest, "The form could not be read. Try again.")
		return
	}
	token := strings.TrimSpace(r.PostForm.Get("token"))
	switch max(a.keys.tokens.of(token), a.keys.named.of(token)) {
	case nobody:
		if wait := a.failed(w, r, "form"); wait > 0 {
			a.showLogin(w, http.StatusTooManyRequests, fmt.Sprintf("Too many wrong tokens from your address. Try again in %d s; the right token is accepted at any time.", seconds(wait)))
			return
		}
		a.showLogin(w, http.StatusUnauthorized, "That is not an admin token of this gateway. Paste one as the token alone or as name:token.")
		return
	case reader:
		a.showLogin(w, http.StatusUnauthorized, "That key may only read. Log in with an admin token or a write key.")
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
