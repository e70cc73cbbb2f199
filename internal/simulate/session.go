package simulate

import (
	"math/rand/v2"
	"time"
)

// sessionMaker adds synthetic sessions to a workload.
type sessionMaker struct {
	*workload
	rng   *rand.Rand
	fable float64       // fraction of the sessions that use a Fable model
	life  time.Duration // of a cached prompt
}

// The properties of sessions. Times are in seconds, lengths in tokens; each sigma is the deviation of a logarithm.
const (
	burstsMean    = 11
	turnsMean     = 10 // a burst's
	gap, gapSigma = 9.0, 0.7
	think         = 90.0
	thinkSigma    = 1.3

	baseLeast, baseMost       = 16_000, 32_000 // system prompt, tools, project files
	promptLeast, promptMost   = 200, 1500      // what a person writes
	growth, growthSigma       = 1200.0, 0.9    // results of tools
	outputMedian, outputSigma = 350.0, 0.8
	compactAt, summaryOfOld   = 160_000, 10_000

	agentChance  = 0.03 // probability that a turn starts sub-agents
	agentsMost   = 4
	agentTurns   = 9
	agentBase    = 10_000
	agentOnHaiku = 0.5
)

// thread is a growing conversation.
type thread struct {
	id     int32
	weight float64
	fable  bool
	base   int
	prompt int
	sent   int           // tokens of the newest prompt that was sent; 0 = none
	last   time.Duration // when it was sent
}

func (m *sessionMaker) thread(base int, weight float64, fable bool) *thread {
	m.threads++
	return &thread{id: int32(m.threads - 1), weight: weight, fable: fable, base: base, prompt: base}
}

// session adds one session. Its turns beyond the end of the run are left out.
func (m *sessionMaker) session(at time.Duration) {
	weight, fable := m.model()
	main := m.thread(between(m.rng, baseLeast, baseMost), weight, fable)
	for range several(m.rng, burstsMean) {
		main.prompt += between(m.rng, promptLeast, promptMost)
		for range several(m.rng, turnsMean) {
			if at >= m.length {
				break
			}
			m.turn(main, at)
			if m.rng.Float64() < agentChance {
				for range 1 + m.rng.IntN(agentsMost) {
					m.agent(main, at)
				}
			}
			at += seconds(around(m.rng, gap, gapSigma))
		}
		at += seconds(around(m.rng, think, thinkSigma))
	}
	m.sessions++
}

// model returns the model that a session uses for its own conversation.
func (m *sessionMaker) model() (weight float64, fable bool) {
	switch {
	case m.rng.Float64() < m.fable:
		return fables, true
	case m.rng.Float64() < 0.4:
		return opus, false
	}
	return sonnet, false
}

// agent adds a sub-agent that works beside the session from now on.
func (m *sessionMaker) agent(main *thread, at time.Duration) {
	weight, fable := main.weight, main.fable
	if m.rng.Float64() < agentOnHaiku {
		weight, fable = haiku, false
	}
	agent := m.thread(agentBase+between(m.rng, promptLeast, promptMost), weight, fable)
	for range several(m.rng, agentTurns) {
		at += seconds(around(m.rng, gap, gapSigma))
		if at >= m.length {
			break
		}
		m.turn(agent, at)
	}
}

// turn adds a turn of a conversation, which grows by it. A conversation that is too long is compacted: from then on it is
// another conversation.
func (m *sessionMaker) turn(c *thread, at time.Duration) {
	if c.prompt > compactAt {
		*c = *m.thread(c.base, c.weight, c.fable)
		c.prompt += summaryOfOld
	}
	t := turn{
		at: at, session: int32(m.sessions), fable: c.fable, weight: c.weight,
		prompt: c.prompt, output: 20 + int(around(m.rng, outputMedian, outputSigma)),
	}
	m.addTurn(c, t, m.life)
	c.prompt += t.output + int(around(m.rng, growth, growthSigma))
}

// addTurn adds a turn of a conversation, with its work.
func (w *workload) addTurn(c *thread, t turn, life time.Duration) {
	cached := 0
	if c.sent > 0 && t.at <= c.last+life {
		cached = c.sent
	}
	t.thread, t.work = c.id, t.cost(cached)
	c.last, c.sent = t.at, t.prompt
	w.work += t.work
	w.turns = append(w.turns, t)
}

func between(rng *rand.Rand, least, most int) int { return least + rng.IntN(most-least+1) }
