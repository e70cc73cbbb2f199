package engine

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
)

// A provider's pages, for [Render].
var (
	ConsentPage = page(`<h1>shunt would like to use your account</h1>
{{range .}}{{if .Name}}<p><a id="allow-{{.Name}}" href="{{.Link}}">Allow as {{.Name}}</a>
{{else}}<p><a id="deny" href="{{.Link}}">Deny</a>
{{end}}{{end}}`)
	CodePage    = page(`<h1>Paste this code</h1><code>{{.}}</code>`)
	DonePage    = page(`<h1>You can close this page</h1>`)
	DeniedPage  = page(`<h1>Access was denied</h1>`)
	InvalidPage = page(`<h1>Invalid request</h1><p>{{.}}`)
)

func page(body string) *template.Template {
	return template.Must(template.New("").Parse("<!doctype html><html lang=en><meta charset=utf-8><title>Simulated provider</title>\n" + body))
}

// Choice is a decision that [ConsentPage] offers: to allow a login as the named account, or to deny it.
type Choice struct {
	Name string
	Link string
}

// Choices returns the decisions that the page offers: each of the accounts, and denial. A decision is another parameter of the
// page's URL, account=NAME or deny=true.
func Choices(page *url.URL, accounts []string) []Choice {
	var list []Choice
	for _, name := range accounts {
		list = append(list, Choice{name, page.Path + "?" + page.RawQuery + "&account=" + url.QueryEscape(name)})
	}
	return append(list, Choice{Link: page.Path + "?" + page.RawQuery + "&deny=true"})
}

// Render returns the page with the data.
func Render(t *template.Template, data any) []byte {
	var text strings.Builder
	if err := t.Execute(&text, data); err != nil {
		panic(fmt.Sprintf("engine: %v", err))
	}
	return []byte(text.String())
}

// Page sends an HTML page.
func (x *Exchange) Page(status int, t *template.Template, data any) {
	x.Send(status, "text/html; charset=utf-8", Render(t, data))
}

// Redirect sends the client to another URL with the query.
func (x *Exchange) Redirect(to string, query url.Values) {
	x.W.Header().Set("Location", to+"?"+query.Encode())
	x.Send(302, "", nil)
}
