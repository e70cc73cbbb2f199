package messages_test

import (
	"testing"
)

// AUTH-2c: the model is known as soon as the bytes that hold it are there.
func TestLeadingModel(t *testing.T) {
	for head, want := range map[string]string{
		`{"model":"m","messages":[{"role":`:                "m",
		`{"model":"m"`:                                     "m",
		`{"a":[{"model":"no"}],"mod\u0065l" : "a\u002db",`: "a-b",
		``:                      "",
		`{`:                     "",
		`{"model":"m`:           "",
		`{"messages":[{"model"`: "",
		`{"model":1,"x":`:       "",
		`{"model":"",`:          "",
		`["model"`:              "",
	} {
		if model, ok := api.LeadingModel([]byte(head)); model != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", head, model, ok)
		}
	}
}

// AUTH-2c: a model that the beginning of a body gives is the model of the whole body, if the body is valid.
func FuzzLeadingModel(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`), 12)
	f.Add([]byte(`{"a":{"model":"no"},"mod\u0065l":"m"}`), 30)
	f.Add([]byte(`{"model":"a","model":"b"}`), 14)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		if n < 0 || n > len(body) {
			return
		}
		leading, ok := api.LeadingModel(body[:n])
		whole, err := api.Scan(body)
		if ok && err == nil && leading != whole.Model {
			t.Errorf("%q of %q, whole %q", leading, body[:n], whole.Model)
		}
		if all, ok := api.LeadingModel(body); err == nil && (!ok || all != whole.Model) {
			t.Errorf("the whole body's model is %q, found %q", whole.Model, all)
		}
	})
}
