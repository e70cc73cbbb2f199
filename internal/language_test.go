package internal_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// avoided are phrases that nobody would say aloud, each with the one to write instead. Texts that people read do not contain
// them: messages, help, pages and documents.
var avoided = []struct{ phrase, instead string }{
	{`is no [a-z]+`, "is not a ..."},
	{`be it`, "even if, whether"},
	{`by whomever|whomever|whoever|somebody`, "any client, anyone who; or name the party"},
	{`at this rate|present pace`, "at the current pace"},
	{`the present|at present`, "now, currently"},
	{`passed on`, "failed over"},
	{`good until|good for a year|run out|runs out`, "expires, is valid for"},
	{`it wants|wants https|want a token`, "requires, needs"},
	{`holds? (it |them )?against`, "compare with, check against"},
	{`comes? about`, "happens, is established"},
	{`learnt`, "learned; or: reads, updates"},
	{`till`, "until"},
	{`for it is`, "because it is"},
	{`in hand`, "in flight"},
	{`broke off|broken off`, "was aborted, was truncated"},
	{`(is|are|be|been|was|were|it|they|first|still) asked`, "receives the request, is polled, is tried"},
	{`answers?|answered|answering`, "response, responds"},
	{`a rest|rests`, "cooldown, cools down"},
	{`patience`, "timeout"},
	{`as it stands`, "as it is"},
	{`falls? upon`, "lands on"},
	{`that way is closed`, "say what failed"},
	{`tells? (of|them|those)`, "reports"},
	{`whatever becomes of|what (has )?become of|what became of`, "what happened to"},
	{`be had`, "is available"},
	{`had better`, "should"},
	{`not any more`, "no longer"},
	{`tak(e|en) in`, "read, accepted"},
	{`has but one|but for its`, "has only one, except for"},
}

// accepted are uses of a phrase that are good English.
var accepted = regexp.MustCompile(`\bthere is no\b|\bis no longer\b|\bcan answer\b|\bended its answer early\b`)

// Texts that people read are in plain English.
func TestLanguage(t *testing.T) {
	hits := map[string][]string{}
	var all []string
	phrases := make([]*regexp.Regexp, len(avoided))
	for i, a := range avoided {
		all = append(all, a.phrase)
		phrases[i] = regexp.MustCompile(`\b(?:` + a.phrase + `)\b`)
	}
	one := regexp.MustCompile(`\b(?:` + strings.Join(all, "|") + `)\b`)
	note := func(name string, line int, text string) {
		if !strings.Contains(text, " ") && len(text) < 100 {
			return // a word of a protocol
		}
		text = accepted.ReplaceAllString(strings.ToLower(strings.Join(strings.Fields(text), " ")), "")
		if !one.MatchString(text) {
			return
		}
		for i, a := range avoided {
			if m := phrases[i].FindString(text); m != "" {
				hits[name] = append(hits[name], fmt.Sprintf("%d: %q: write %s", line, m, a.instead))
			}
		}
	}
	for _, l := range literals(t) {
		note(l.file, l.line, l.text)
	}
	walk(t, func(name, text string) {
		if name == "docs/configuration.md" { // generated from the literals above
			return
		}
		line := 1
		for paragraph := range strings.SplitSeq(text, "\n\n") {
			note(name, line, paragraph)
			line += strings.Count(paragraph, "\n") + 2
		}
	}, ".md", ".tmpl", ".html", ".js", ".toml", ".json", ".service")
	for _, name := range slices.Sorted(maps.Keys(hits)) {
		lines := slices.Compact(slices.Sorted(slices.Values(hits[name])))
		t.Errorf("%s:\n\t%s", name, strings.Join(lines, "\n\t"))
	}
}
