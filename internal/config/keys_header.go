package config

import (
	"net/textproto"

	"shunt/internal/config/schema"
	"shunt/internal/secret"
)

const headerDoc = "Headers that are added to every request to the provider, in place of those of the client with the same name. They cannot hold " +
	"credentials of the usual names, or frame the message. Adding what makes a client look like another one is your decision under the provider's terms."

// headerTable is [providers.<name>.headers], and headers of [[upstreams]] (FAM-4).
var headerTable = schema.Table{
	Name: "headers", Owner: schema.Part(func(p *Provider) *Provider { return p }), Any: &headerKey, Join: headerJoin, Doc: headerDoc,
}

var headerKey = schema.Key{
	Name:    "<name>",
	Binding: schema.Bind(headerText, func(h *Header) *secret.String { return &h.Value }),
	Doc:     "The name of a header, and its value.",
}

// headerText is the value of a header.
var headerText = schema.Text("the value of a header: printable ASCII characters, without spaces at its ends", func(text string, _ schema.Base) (secret.String, error) {
	if !headerValueText.MatchString(text) {
		return secret.String{}, schema.ErrUnexpected
	}
	return secret.New(text), nil
})

func headerJoin(owner any, name string) any {
	p := owner.(*Provider)
	p.Headers = append(p.Headers, Header{Name: textproto.CanonicalMIMEHeaderKey(name)})
	return &p.Headers[len(p.Headers)-1]
}
