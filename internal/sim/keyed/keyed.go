// Package keyed implements a simulated provider of keys for tests and recipes: the public Responses, Chat and Gemini APIs on
// one origin, each with its own way to authenticate.
//
// [Provider] is an http.Handler without goroutines of its own, and safe for concurrent use. Its responses depend on its seed,
// its script and the request alone. It has no quota: limits are faults or steps of the script.
package keyed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"shunt/internal/sim/engine"
	"shunt/internal/sim/render"
	"shunt/internal/sim/script"
)

// The endpoints of a [Provider]. Those of Gemini follow GeminiPath: a model and a method, such as m:generateContent.
const (
	ResponsesPath = "/v1/responses"
	ChatPath      = "/v1/chat/completions"
	ModelsPath    = "/v1/models"
	GeminiPath    = "/v1beta/models/"
)

// Config describes a provider. The zero value of every field except Clock is usable, but without Keys nothing is served.
type Config struct {
	engine.Config
	// Keys are the accepted keys by the name of their account.
	Keys map[string]string
	// Open serves requests without a key, as a local model server does.
	Open bool
	// Models are served and listed. Nil means that every model is served and none is listed.
	Models []string
}

// Provider is a simulated provider: the http.Handler of all its endpoints.
type Provider struct {
	*engine.Base
	config Config
}

// New returns a provider.
func New(config Config) *Provider { return &Provider{engine.New(config.Config), config} }

type exchange struct {
	*engine.Exchange
	p       *Provider
	dialect render.Dialect
}

// ServeHTTP serves one request.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Exchange: p.Begin(w, r), p: p, dialect: render.Chat{}}
	defer x.Finish()
	w.Header().Set("X-Request-Id", x.ID)
	serve, method := x.list, http.MethodGet
	model, call, gemini := x.geminiCall()
	switch {
	case x.Path == ModelsPath:
	case x.Path == ResponsesPath:
		x.dialect = render.Responses{}
		serve, method = x.infer, http.MethodPost
	case x.Path == ChatPath:
		serve, method = x.infer, http.MethodPost
	case gemini:
		x.dialect, x.Model = render.Gemini{}, model
		serve, method = func() { x.gemini(call) }, http.MethodPost
	default:
		x.refuse(http.StatusNotFound, "not_found", "Unknown request URL")
		return
	}
	x.Inference = method == http.MethodPost
	known := x.authenticate(gemini)
	switch {
	case r.Method != method:
		w.Header().Set("Allow", method)
		x.refuse(http.StatusMethodNotAllowed, "method_not_allowed", "Method not allowed")
	case x.InjectFault(known):
	case !known:
		x.refuse(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
	case x.BodyError != nil:
		x.refuse(http.StatusBadRequest, "invalid_body", "The request body could not be decoded.")
	default:
		serve()
	}
}

// geminiCall returns the model and the method of a request to Gemini.
func (x *exchange) geminiCall() (model, method string, ok bool) {
	rest, ok := strings.CutPrefix(x.Path, GeminiPath)
	if !ok {
		return "", "", false
	}
	model, method, ok = strings.Cut(rest, ":")
	return model, method, ok
}

// authenticate finds the account of the key.
func (x *exchange) authenticate(gemini bool) bool {
	key := x.R.Header.Get("X-Goog-Api-Key")
	if !gemini {
		key, _ = strings.CutPrefix(x.R.Header.Get("Authorization"), "Bearer ")
	}
	for name, k := range x.p.config.Keys {
		if key != "" && k == key {
			x.Account = name
			return true
		}
	}
	return x.p.config.Open && key == ""
}

func (x *exchange) serves(model string) bool {
	return x.p.config.Models == nil || slices.Contains(x.p.config.Models, model)
}

// infer serves the Responses and the Chat API.
func (x *exchange) infer() {
	request, err := x.dialect.Read(x.Body)
	x.Model, x.Stream = request.Model, request.Stream
	x.respond(request, err)
}

// gemini serves the methods of a Gemini model.
func (x *exchange) gemini(method string) {
	request, err := x.dialect.Read(x.Body)
	request.Model = x.Model
	switch method {
	case "countTokens":
		x.JSON(http.StatusOK, engine.Object{"totalTokens": request.Tokens})
		return
	case "streamGenerateContent":
		request.Stream = true
		if x.R.URL.Query().Get("alt") != "sse" {
			x.refuse(http.StatusBadRequest, "INVALID_ARGUMENT", "Only alt=sse is supported here.")
			return
		}
	case "generateContent":
	default:
		x.refuse(http.StatusNotFound, "NOT_FOUND", "Unknown method")
		return
	}
	x.Stream = request.Stream
	x.respond(request, err)
}

func (x *exchange) respond(request render.Request, err error) {
	switch {
	case err != nil:
		x.refuse(http.StatusBadRequest, "invalid_value", err.Error())
		return
	case !x.serves(request.Model):
		x.refuse(http.StatusNotFound, "model_not_found", fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", request.Model))
		return
	}
	for _, seal := range request.Seals {
		if !strings.HasPrefix(seal, x.seal()) {
			x.refuse(http.StatusBadRequest, "invalid_encrypted_content", "The encrypted content could not be verified.")
			return
		}
	}
	if !x.Wait(x.p.Pace.FirstByte) {
		return
	}
	reply := render.NewReply(x.p.Base, request, x.p.Play(request.Prompt))
	reply.Seal = x.seal() + reply.ID
	if reply.Failure == script.RateLimited {
		x.W.Header().Set("Retry-After", fmt.Sprint(render.RetryDelay))
	}
	render.Respond(x.Exchange, x.dialect, reply)
}

// seal begins the opaque tokens of the account's reasoning.
func (x *exchange) seal() string {
	sum := sha256.Sum256([]byte(fmt.Sprint(x.p.Seed, x.Account)))
	return "gAAAA" + hex.EncodeToString(sum[:12]) + "_"
}

// list serves the list of models.
func (x *exchange) list() {
	data := []engine.Object{}
	for _, id := range x.p.config.Models {
		data = append(data, engine.Object{"id": id, "object": "model", "created": 1_750_000_000, "owned_by": "simulated"})
	}
	x.JSON(http.StatusOK, engine.Object{"object": "list", "data": data})
}

// refuse sends an error that the provider's own checks found.
func (x *exchange) refuse(status int, code, message string) {
	x.JSON(status, x.dialect.Refusal(status, code, message))
}
