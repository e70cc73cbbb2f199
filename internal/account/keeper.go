package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"shunt/internal/clock"
	"shunt/internal/identity"
	"shunt/internal/observe"
	"shunt/internal/store"
)

// refreshDistance is the least time between two requests to a token endpoint, so that requests for ten expired accounts do
// not cause ten refreshes at once (TOK-7c).
const refreshDistance = 200 * time.Millisecond

// Options configure a [Keeper].
type Options struct {
	Clock    clock.Clock
	Log      *slog.Logger    // nil: none
	Health   *observe.Health // nil: one of its own
	Families []Family
	Getenv   func(name string) string // required if an entry has a TokenEnv

	// OnChange is called with each identity whose credential has changed, from any goroutine (TOK-7). It may be nil. It must
	// not call the Keeper.
	OnChange func(identity.Key)

	// OnRefresh is called after each request to a token endpoint, from any goroutine, with the entry ("provider/name") and
	// the error. It may be nil. It must not call the Keeper.
	OnRefresh func(entry string, err error)

	// Open returns the documents of a directory; nil: its files.
	Open func(dir string) store.Store
}

// Keeper keeps the credentials of all accounts of the process.
type Keeper struct {
	clock     clock.Clock
	log       *slog.Logger
	health    *observe.Health
	families  []*Family
	getenv    func(string) string
	onChange  func(identity.Key)
	onRefresh func(entry string, err error)
	open      func(dir string) store.Store

	gate       gate
	pace       pace
	successors successors
	unproven   unproven

	changes chan struct{} // see Changes
	rewatch chan struct{} // receives a value after watched changed

	// ctx ends with Close, with ErrClosed as its cause.
	ctx   context.Context
	close context.CancelCauseFunc
	work  sync.WaitGroup // refreshes and retried writes

	resolving sync.Mutex // one Resolve at a time; guards warned and seen
	warned    map[string]bool
	seen      map[identity.Key]bool // all identities since the start

	mu      sync.Mutex // guards what follows; never held with a source's lock or across I/O
	closed  bool
	sources map[place]*source
	stores  map[string]store.Store
	watched map[string][]string // names of documents by directory; no names: all documents
}

// place identifies a source: a document in a directory or, without a directory, an environment variable.
type place struct {
	family    *Family
	dir, name string
}

// entry returns the name of the store entry at the place, if it is in the store.
func (p place) entry() (name string, ok bool) {
	name, ok = entryName(p.name)
	return name, ok && p.dir == p.family.Dir
}

func (p place) String() string {
	if p.dir == "" {
		return "$" + p.name
	}
	return filepath.Join(p.dir, p.name)
}

// NewKeeper returns a keeper without accounts. It starts no goroutine; see [Keeper.Run].
func NewKeeper(o Options) *Keeper {
	k := &Keeper{
		clock:      o.Clock,
		log:        cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		getenv:     o.Getenv,
		onChange:   o.OnChange,
		onRefresh:  o.OnRefresh,
		open:       o.Open,
		gate:       gate{held: map[string]chan struct{}{}},
		pace:       pace{clock: o.Clock, distance: refreshDistance},
		successors: newSuccessors(),
		unproven:   unproven{clock: o.Clock, since: map[identity.Key]time.Time{}},
		changes:    make(chan struct{}, 1),
		rewatch:    make(chan struct{}, 1),
		warned:     map[string]bool{},
		seen:       map[identity.Key]bool{},
		sources:    map[place]*source{},
		stores:     map[string]store.Store{},
	}
	k.health = o.Health
	if k.health == nil {
		k.health = observe.NewHealth(k.log, o.Clock)
	}
	for _, f := range o.Families {
		f.Dir = filepath.Clean(f.Dir)
		k.families = append(k.families, &f)
	}
	if k.open == nil {
		k.open = func(dir string) store.Store { return store.NewDir(dir) }
	}
	k.ctx, k.close = context.WithCancelCause(context.Background())
	return k
}

// family returns the family with that name. It panics if there is none, which is a bug.
func (k *Keeper) family(name string) *Family {
	for _, f := range k.families {
		if f.Name == name {
			return f
		}
	}
	panic("unknown family of accounts: " + name)
}

// Changes returns a channel that receives a value within a second after documents appeared, changed or vanished, while
// [Keeper.Run] runs. The receiver should call [Keeper.Resolve] again.
func (k *Keeper) Changes() <-chan struct{} { return k.changes }

// Close cancels queued refreshes, and waits for those in flight, which take at most 30 s, and for their writes. The error
// names the logins that are lost because they could not be written. No refresh starts after Close; [Account.Token] still
// returns fresh tokens. Run must have ended, or end by its own context.
func (k *Keeper) Close(ctx context.Context) error {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.close(ErrClosed)
	done := make(chan struct{})
	go func() { k.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("refreshes are still in flight: %w", ctx.Err())
	}
	var lost []error
	for _, s := range k.allSources() {
		if s.unwritten() {
			if err := s.save(ctx); err != nil {
				lost = append(lost, fmt.Errorf("the login of %s is lost, because %s cannot be written: %w", s.title(), s.place, err))
			}
		}
	}
	return errors.Join(lost...)
}

// spawn runs f on a goroutine that Close waits for, and reports whether it did. After Close it does not.
func (k *Keeper) spawn(f func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.work.Go(f)
	return true
}

func (k *Keeper) allSources() []*source {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := make([]*source, 0, len(k.sources))
	for _, s := range k.sources {
		list = append(list, s)
	}
	return list
}

// sourceAt returns the source of a place, creating it if necessary.
func (k *Keeper) sourceAt(p place) *source {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.sources[p]
	if !ok {
		s = &source{keeper: k, place: p, disk: newDiskTurn(), problem: errNotRead}
		if p.dir != "" {
			s.store = k.storeOf(p.dir)
		}
		k.sources[p] = s
	}
	return s
}

// storeOf returns the documents of a directory. The caller holds mu.
func (k *Keeper) storeOf(dir string) store.Store {
	store, ok := k.stores[dir]
	if !ok {
		store = k.open(dir)
		k.stores[dir] = store
	}
	return store
}

func (k *Keeper) signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
