package observe

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// OBS-1: a line of the request log is what encoding/json writes for the record, whatever its strings contain.
func TestLinesAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Just(""), rapid.StringMatching(`[a-z0-9._/-]{1,20}`), rapid.String(), rapid.StringMatching(`[\\"<>&\x00-\x1f\x7f\x{2028}é]{1,5}`))
		number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64())
		some := func(name string) bool { return rapid.Bool().Draw(t, name) }
		zone := time.FixedZone("", rapid.IntRange(-12, 14).Draw(t, "zone")*3600)
		r := Record{
			Time:      time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "time"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone),
			RequestID: text.Draw(t, "id"), Session: text.Draw(t, "session"), Client: text.Draw(t, "client"), Path: text.Draw(t, "path"),
			Provider: text.Draw(t, "provider"), Account: text.Draw(t, "account"), Why: text.Draw(t, "why"), Model: text.Draw(t, "model"),
			Stream: some("stream"), Status: int(number.Draw(t, "status")), End: End(text.Draw(t, "end")),
			StreamError: text.Draw(t, "stream error"), TruncationCause: text.Draw(t, "cause"), Error: text.Draw(t, "error"),
			Attempts: int(number.Draw(t, "attempts")), TTFB: Millis(number.Draw(t, "ttfb")), Duration: Millis(number.Draw(t, "duration")),
			BytesIn: number.Draw(t, "in"), BytesOut: number.Draw(t, "out"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "rotations") {
			r.Rotations = append(r.Rotations, Rotation{Provider: "p", From: text.Draw(t, "from"), Reason: text.Draw(t, "reason"), Error: text.Draw(t, "why not")})
		}
		if some("move") {
			r.Move = &Move{text.Draw(t, "from"), text.Draw(t, "to"), text.Draw(t, "reason")}
		}
		if some("dropped") {
			r.Dropped = Dropped{rapid.IntRange(0, 3).Draw(t, "reasoning"), rapid.IntRange(0, 1).Draw(t, "state")}
		}
		if some("tokens") {
			r.Tokens = &Tokens{number.Draw(t, "a"), number.Draw(t, "b"), number.Draw(t, "c"), number.Draw(t, "d"), some("estimated")}
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.appendLine(nil); string(got) != string(want)+"\n" {
			t.Fatalf("got  %swant %s", got, want)
		}
	})
}
