package admin

import (
	"net/http"
	"strings"

	"shunt/internal/anthropic"
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
	case !a.tries.take(a.Clock.Now()):
		w.Header().Set("Retry-After", "60")
		a.showLogin(w, http.StatusTooManyRequests, "Too many tries. Wait a minute.")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, bodyLimit)
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusBadRequest, anthropic.TypeInvalidRequest, "the form cannot be read")
		return
	}
	if a.keys.of(strings.TrimSpace(r.PostForm.Get("token"))) != writer {
		a.showLogin(w, http.StatusUnauthorized, "That is no admin token.")
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
