package account

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzWithMember compares with encoding/json: a document gets the member and is otherwise what it was (LOG-5, ACC-3).
func FuzzWithMember(f *testing.F) {
	for _, seed := range []string{
		`{"claudeAiOauth":{"accessToken":"a","refreshToken":"r"},"m":{"n":1.50}}`,
		"{\n \"a\" : [1, 2] ,\n\"claudeAiOauth\"\t: { \"accessToken\" : \"a\" }\r\n}\n",
		`{"shuntAccountUuid":1,"claudeAiOauth":{"accessToken":"a"},"shuntAccountUuid":{"x":"y"},"":0}`,
		`{"shunt\u0041ccountUuid":"old","claudeAiOauth":{"accessToken":"a"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before, err := parse(text)
		if err != nil {
			return
		}
		with := withMember(text, "shuntAccountUuid", `u"1`)
		after, err := parse(with)
		if err != nil || after.uuid != `u"1` || after.credential != before.credential || after.organization != before.organization {
			t.Fatalf("%q became %q: %+v, %v", text, with, after, err)
		}
		was, is := foreign(t, text), foreign(t, with)
		delete(was, "shuntAccountUuid")
		delete(is, "shuntAccountUuid")
		if diff := cmp.Diff(was, is); diff != "" {
			t.Errorf("%q became %q:\n%s", text, with, diff)
		}
	})
}
