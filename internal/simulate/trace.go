package simulate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"shunt/internal/observe"
)

// Replay plays a request log, as `shunt run` writes it, against all policies.
//
// The log contains the time, session and model of each request and the tokens of its response. It does not contain the sizes of
// the windows: these follow from the demand in the options, their number and proportions from the plans (or, without any, an
// equal one for each account in the log), their phases and the traffic of others from the seed. Turns of one session and model
// count as one conversation as long as their prompts grow; a shorter prompt belongs to a sub-agent, or to a conversation that was
// compacted. Requests that were refused or failed are demand like any other, of a size that is estimated from their bytes.
// Responses about the request itself (most 4xx) and requests whose client disconnected are not demand. Lines that are not valid
// records, such as a full disk leaves, are skipped and counted.
func Replay(log io.Reader, o Options) (Comparison, error) {
	w, err := replayed(log, &o)
	if err != nil {
		return Comparison{}, err
	}
	return compare(o, w), nil
}

// longestLine limits the lines of a log, in bytes.
const longestLine = 1 << 20

func replayed(log io.Reader, o *Options) (*workload, error) {
	records, torn, err := readRecords(log)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read request log: %w", err)
	case len(records) == 0:
		return nil, errors.New("read request log: it contains no request for a message")
	}
	if len(o.Plans) == 0 {
		o.Plans = equalPlans(records)
	}
	start := records[0].Time.UTC().Truncate(time.Hour)
	w := &workload{start: start, length: records[len(records)-1].Time.Sub(start).Truncate(time.Hour) + time.Hour, skipped: torn}
	o.Days = int(math.Ceil(w.length.Hours() / 24))
	if o.Days > mostDays {
		return nil, fmt.Errorf("read request log: it spans %d days, more than %d", o.Days, mostDays)
	}
	r := replay{workload: w, life: o.Cache.Duration(), index: map[string]int32{}, open: map[string][]*thread{}}
	for i := range records {
		r.add(&records[i])
	}
	w.size(*o)
	w.finish(o.Demand)
	return w, nil
}

func readRecords(log io.Reader) (records []observe.Record, torn int, err error) {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var r observe.Record
		switch {
		case len(strings.TrimSpace(lines.Text())) == 0:
		case json.Unmarshal(lines.Bytes(), &r) != nil || r.Time.IsZero():
			torn++
		case r.Path == "/v1/messages" && isDemand(r.Status):
			records = append(records, r)
		}
	}
	slices.SortStableFunc(records, func(a, b observe.Record) int { return a.Time.Compare(b.Time) })
	return records, torn, lines.Err()
}

func isDemand(status int) bool {
	return status >= 200 && status < 300 || status == http.StatusTooManyRequests || status >= 500
}

func equalPlans(records []observe.Record) []float64 {
	names := map[string]bool{}
	for i := range records {
		if records[i].Account != "" {
			names[records[i].Account] = true
		}
	}
	plans := make([]float64, min(max(1, len(names)), mostAccounts))
	for i := range plans {
		plans[i] = 1
	}
	return plans
}

// size makes accounts whose windows have the size that follows from the demand.
func (w *workload) size(o Options) {
	w.addAccounts(o, 1)
	w.addAccounts(o, w.work/(o.Demand*w.capacity))
}

// replay makes a workload of the records of a log.
type replay struct {
	*workload
	life  time.Duration
	index map[string]int32     // of sessions
	open  map[string][]*thread // conversations that may continue, by session and model
}

// Estimates for a response without a count of its tokens.
const (
	bytesPerToken = 4
	usualAnswer   = 400
)

func (p *replay) add(r *observe.Record) {
	model := strings.ToLower(r.Model)
	t := turn{at: r.Time.Sub(p.start), session: p.session(r.Session), weight: weightOf(model), fable: strings.Contains(model, "fable")}
	if k := r.Tokens; k != nil {
		t.prompt, t.output = int(k.Input+k.CacheRead+k.CacheCreation), int(k.Output)
	} else {
		t.prompt, t.output = int(r.BytesIn/bytesPerToken), usualAnswer
	}
	p.addTurn(p.thread(r.Session, model, &t), t, p.life)
}

// session returns the index of a session, -1 without one.
func (p *replay) session(id string) int32 {
	if id == "" {
		return -1
	}
	index, known := p.index[id]
	if !known {
		index = int32(p.sessions)
		p.index[id] = index
		p.names = append(p.names, id)
		p.sessions++
	}
	return index
}

// thread returns the conversation that a turn continues: the longest of those from whose prompts it may have grown. One that is
// no longer cached is dropped.
func (p *replay) thread(session, model string, t *turn) *thread {
	key := session + " " + model
	open := slices.DeleteFunc(p.open[key], func(c *thread) bool { return c.last+p.life < t.at })
	var best *thread
	for _, c := range open {
		if c.sent <= t.prompt && (best == nil || c.sent > best.sent) {
			best = c
		}
	}
	if best == nil || session == "" {
		best = &thread{id: int32(p.threads)}
		p.threads++
		open = append(open, best)
	}
	p.open[key] = open
	return best
}

func weightOf(model string) float64 {
	switch {
	case strings.Contains(model, "fable"):
		return fables
	case strings.Contains(model, "opus"):
		return opus
	case strings.Contains(model, "haiku"):
		return haiku
	}
	return sonnet
}
