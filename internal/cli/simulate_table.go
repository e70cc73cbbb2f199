package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"shunt/internal/simulate"
)

// writeTable writes a comparison as a table.
func writeTable(w io.Writer, c *simulate.Comparison) {
	fmt.Fprintln(w, c.Summary())
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { fmt.Fprintln(table, strings.Join(cells, "\t")+"\t") }
	row("", "work", "expired", "429s a", "of them", "moves per", "sessions", "cache lost")
	row("", "served", "unused", "client saw", "avoidable", "1000 turns", "moved", "by moves")
	for i := range c.Results {
		r := &c.Results[i]
		row(fmt.Sprintf(nameColumn, r.Policy), share(r.OfBound), share(r.Wasted), fmt.Sprint(r.Limited), fmt.Sprint(r.Avoidable),
			fmt.Sprintf("%.1f", r.MovesPer1000), fmt.Sprint(r.SessionsMoved), share(r.LostOfBound))
	}
	row(fmt.Sprintf(nameColumn, "upper bound"), share(1), "", "", "", "", "", "")
	_ = table.Flush() // to a buffer
	fmt.Fprintln(w)
	printLines(w,
		"Work, expired quota and lost cache are shares of the upper bound, the most that the windows could have served.",
		"Expired is weekly quota that reset unused although requests had been refused while it was available.",
		"Avoidable are 429s while another account could have served. shunt+pool is shunt with [server.pool].")
	if c.Skipped > 0 {
		fmt.Fprintf(w, "Skipped, because they are not records of a request: %s of the log.\n", counted(c.Skipped, "line"))
	}
}

// nameColumn is the format of the first column, which is aligned left.
const nameColumn = "%-11s"

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func share(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) }
