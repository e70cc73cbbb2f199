package observe_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shunt/internal/observe"
)

// OBS-2: the dashboard queries only metrics and labels that exist, and shows every metric of shunt.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile("../../contrib/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct{ List []struct{ Definition string } }
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	m := observe.NewMetrics("1", sources())
	m.Count(everything())
	m.Count(&observe.Record{Provider: "anthropic", End: observe.ClientGone})
	m.Count(&observe.Record{Provider: "anthropic", End: observe.Failed, StreamError: "overloaded_error"})
	m.Refreshed("anthropic", "home", "success")
	labels := map[string][]string{} // by metric
	label := regexp.MustCompile(`[{,](\w+)="`)
	for line := range strings.Lines(scrape(m)) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok { // the series of histograms follow
			labels[strings.Fields(name)[0]] = nil
			continue
		}
		name := regexp.MustCompile(`^\w+`).FindString(line)
		for _, l := range label.FindAllStringSubmatch(line, -1) {
			labels[name] = append(labels[name], l[1])
		}
	}
	queried := map[string]bool{}
	check := func(where, query, legend string) {
		names := regexp.MustCompile(`\b(shunt|process|go)_\w+`).FindAllString(query, -1)
		if len(names) == 0 {
			t.Errorf("%s: no metric in %q", where, query)
		}
		var existing []string
		for _, name := range names {
			if _, ok := labels[name]; !ok {
				t.Errorf("%s: no metric %s", where, name)
			}
			queried[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")] = true
			existing = append(existing, labels[name]...)
		}
		used := regexp.MustCompile(`[{,](\w+)[!=]`).FindAllStringSubmatch(query, -1)
		used = append(used, regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(legend, -1)...)
		for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(query, -1) {
			for l := range strings.SplitSeq(by[1], ", ") {
				used = append(used, []string{"", l})
			}
		}
		for _, l := range used {
			if !slices.Contains(existing, l[1]) && l[1] != "job" && l[1] != "instance" { // which Prometheus adds
				t.Errorf("%s: no label %s in %q", where, l[1], query)
			}
		}
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			check(p.Title, target.Expr, target.LegendFormat)
		}
	}
	for _, v := range board.Templating.List {
		if v.Definition != "" {
			check("variable", v.Definition, "")
		}
	}
	for name := range labels {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if strings.HasPrefix(name, "shunt_") && !queried[base] {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}
