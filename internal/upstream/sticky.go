package upstream

import (
	"hash/maphash"
	"net/http"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"shunt/internal/family"
	"shunt/internal/identity"
)

// stickyLimit bounds how many values of sticky headers are remembered, least recently used first out.
const stickyLimit = 100_000

// sticky remembers which account sent a value that only this account understands (GPT-11). It keeps hashes.
type sticky struct {
	seed maphash.Seed

	mu      sync.Mutex
	senders *simplelru.LRU[uint64, identity.Key]
}

func newSticky() *sticky {
	senders, _ := simplelru.NewLRU[uint64, identity.Key](stickyLimit, nil) // fails only for a size below 1
	return &sticky{seed: maphash.MakeSeed(), senders: senders}
}

func (s *sticky) remember(value string, sender identity.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.senders.Add(maphash.String(s.seed, value), sender)
}

// belongsTo reports whether an account may have sent the value. One that is not known, as after a restart, may be anyone's.
func (s *sticky) belongsTo(value string, account identity.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sender, known := s.senders.Get(maphash.String(s.seed, value))
	return !known || sender == account
}

// rememberSticky remembers that the attempt's account sent the sticky header of a response.
func (x *exchange) rememberSticky(upstream http.Header, a *attempt) {
	if name := x.family.StickyHeader; name != "" {
		for _, value := range upstream[name] {
			x.transport.live.sticky.remember(value, a.Key)
		}
	}
}

// appendAccount appends the header lines of requests with the attempt's account, and removes what only another account
// understands.
func (x *exchange) appendAccount(dst []field, a *attempt) []field {
	dst = x.appendAccountOf(dst, a.account)
	name := x.family.StickyHeader
	if name == "" {
		return dst
	}
	for _, value := range x.r.Client.Header[name] {
		if !x.transport.live.sticky.belongsTo(value, a.Key) {
			a.dropped.State = 1
			return append(dst, field{name, ""})
		}
	}
	return dst
}

// copyResponseHeader copies the headers of an upstream's response that the client gets. They name the model that the client
// requested, if they name one (GPT-11), and no retry-after that its dialect does not bear (GPT-12).
func (r *Request) copyResponseHeader(dst, upstream http.Header, f *family.Family) {
	copyResponseHeader(dst, upstream)
	if name := f.ModelHeader; dst[name] != nil {
		if requested := r.restore(); isPrintable(requested) {
			dst[name] = []string{requested}
		} else if requested != "" {
			delete(dst, name)
		}
	}
	limitRetryAfter(dst, r.Dialect)
}
