package simulate

import "time"

// The prices of a token, in units.
const (
	cacheRead  = 0.1
	cacheWrite = 1.25
	output     = 5
)

// The weights of the model families.
const (
	sonnet = 1
	opus   = 5.0 / 3
	haiku  = 1.0 / 3
	fables = 2
)

// turn is one request of a workload.
type turn struct {
	at      time.Duration // after the beginning of the run
	session int32         // index; -1 = none
	thread  int32         // index of the conversation: the session's own or a sub-agent's
	fable   bool
	weight  float64 // of the model
	prompt  int     // tokens, including all of the thread's earlier prompt
	output  int     // tokens
	work    float64 // units: its cost with the newest prompt of its thread in the cache, if that has not expired
}

// cost returns what the turn costs when that many tokens of its prompt are cached.
func (t *turn) cost(cached int) float64 {
	cached = min(cached, t.prompt)
	return t.weight * (cacheRead*float64(cached) + cacheWrite*float64(t.prompt-cached) + output*float64(t.output))
}

// caches holds the prompts that accounts keep.
type caches struct {
	life     time.Duration
	accounts int
	prompts  []prompt // by thread and account
}

type prompt struct {
	tokens int
	until  time.Duration
}

func newCaches(life time.Duration, threads, accounts int) *caches {
	return &caches{life, accounts, make([]prompt, threads*accounts)}
}

// use returns how many tokens of the turn's prompt the account has, and how many more another account has. The account then has
// all of them.
func (c *caches) use(t *turn, account int) (cached, elsewhere int) {
	of := c.prompts[int(t.thread)*c.accounts:][:c.accounts]
	for i := range of {
		if of[i].until < t.at {
			continue
		}
		elsewhere = max(elsewhere, of[i].tokens)
		if i == account {
			cached = of[i].tokens
		}
	}
	of[account] = prompt{t.prompt, t.at + c.life}
	return cached, elsewhere - cached
}
