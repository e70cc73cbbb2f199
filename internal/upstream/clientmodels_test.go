package upstream_test

import (
	"net/http"
	"net/url"
	"testing"

	"shunt/internal/family"
	"shunt/internal/family/keyed"
	"shunt/internal/secret"
	"shunt/internal/upstream"
)

// GPT-10: a program's own list comes from an account of the pool, and is passed on as it is.
func TestClientModels(t *testing.T) {
	inStage(t, func(s *stage) {
		const list = `{"models":[{"slug":"gpt-5.5"}]}`
		s.script("a", respond(500, ``), respond(500, ``))
		s.script("b", respond(200, list), respond(500, ``))
		s.script("c", respond(500, ``), respond(500, ``))
		got, err := s.pool.ClientModels(s.Context(), "client_version=0.171.0")
		if last := s.last(); err != nil || string(got) != list || last.target != "/backend-api/codex/models?client_version=0.171.0" ||
			last.header.Get("Chatgpt-Account-Id") != "id-b" {
			t.Errorf("%s, %v: sent %+v", got, err, last)
		}
		s.script("", respond(200, `{"models":[{"slug":"gpt-5.5","display_name":"GPT"}]}`))
		if models, err := s.pool.Models(s.Context(), s.dialect(), http.Header{}); err != nil || len(models) != 1 || models[0].ID != "gpt-5.5" {
			t.Errorf("models %v, %v", models, err)
		}
		s.script("", respond(500, ``))
		if got, err := s.pool.ClientModels(s.Context(), ""); err == nil {
			t.Errorf("got %s", got)
		}
	})
}

// GEM-2: a delay in the body of a provider with a key becomes the response's retry-after, unless that is longer.
func TestDelayInBody(t *testing.T) {
	inStage(t, func(s *stage) {
		f := keyed.Responses
		f.DelaysInBody = true
		at, err := url.Parse(stageURL)
		s.Must(err)
		single := func(f *family.Family) upstream.Upstream {
			return upstream.NewSingle(upstream.SingleOptions{
				Name: "key", Base: at, Credential: upstream.Bearer(secret.New("token-a")), Family: f, Transport: s.transport,
			})
		}
		const delayed = `{"error":{"code":"RESOURCE_EXHAUSTED","message":"m","resets_in_seconds":7.5}}`
		for _, c := range []struct {
			upstream upstream.Upstream
			status   int
			after    string
			want     string
		}{
			{single(&f), 429, "", "8"},
			{single(&f), 503, "3", "8"},
			{single(&f), 429, "20", "20"},
			{single(&f), 500, "", ""},
			{single(&keyed.Responses), 429, "", ""},
		} {
			var lines []string
			if c.after != "" {
				lines = append(lines, "retry-after: "+c.after)
			}
			s.script("a", respond(c.status, delayed, lines...))
			w, _, _ := s.send(c.upstream, "s")
			if got := w.Header().Get("Retry-After"); w.Code != c.status || got != c.want || w.Body.String() != delayed {
				t.Errorf("%d with retry-after %q: %d with %q: %s", c.status, c.after, w.Code, got, w.Body)
			}
		}
	})
}
