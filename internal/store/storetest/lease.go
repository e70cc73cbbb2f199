package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"shunt/internal/store"
)

// leaseExcludes appends to one document without conditions, under its lease, while another name's lease is held
// (TOK-4).
func leaseExcludes(t *testing.T, a, b store.Store) {
	const holders, each = 4, 15
	ctx := t.Context()
	defer must(a.Lease(ctx, "other"))(t).Release()
	var wg sync.WaitGroup
	for i := range holders {
		st := []store.Store{a, b}[i%2]
		wg.Go(func() {
			for range each {
				lease, err := st.Lease(ctx, "n")
				if err != nil {
					t.Error(err)
					return
				}
				doc, _ := st.Get(ctx, "n")
				if _, err := st.Put(ctx, "n", append(doc.Data, 'i')); err != nil {
					t.Error(err)
				}
				lease.Release()
			}
		})
	}
	wg.Wait()
	if doc := must(a.Get(ctx, "n"))(t); len(doc.Data) != holders*each {
		t.Errorf("%d increments, want %d", len(doc.Data), holders*each)
	}
}

// leaseWait checks that a wait lasts until its context ends or the holder releases the lease, and that the end of the
// context does not end the lease. It runs in a synctest bubble, as do the functions below.
func leaseWait(t *testing.T, a, b store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	lease := must(a.Lease(ctx, "doc"))(t)
	cancel()
	isHeld(t, b, "doc", "after the end of the context that acquired it")

	time.AfterFunc(20*time.Second, lease.Release)
	start := time.Now()
	must(b.Lease(t.Context(), "doc"))(t).Release()
	if waited := time.Since(start); waited < 20*time.Second || waited > 21*time.Second {
		t.Errorf("waited %v for a lease that was released after 20 s", waited)
	}
}

func leaseRelease(t *testing.T, a, b store.Store) {
	first := must(a.Lease(t.Context(), "doc"))(t)
	hasEnded(t, first, false, "while it is held")
	if err := first.Renew(t.Context()); err != nil {
		t.Errorf("Renew: %v", err)
	}
	first.Release()
	hasEnded(t, first, true, "after its release")

	second := must(b.Lease(t.Context(), "doc"))(t)
	first.Release()
	isHeld(t, a, "doc", "after the first holder released its lease again")
	hasEnded(t, second, false, "after the first holder released its lease again")
	second.Release()
	must(a.Lease(t.Context(), "doc"))(t).Release()
}

// leaseExpiry checks that a lease lasts as long as its holder renews it and then ends when it says. A lease that never
// expires is held however long nobody renews it (REP-5).
func leaseExpiry(t *testing.T, a, b store.Store) {
	lease := must(a.Lease(t.Context(), "doc"))(t)
	for range 5 {
		time.Sleep(store.LeaseTime * 3 / 4)
		if err := lease.Renew(t.Context()); err != nil {
			t.Fatalf("Renew: %v", err)
		}
	}
	isHeld(t, b, "doc", "after renewals")
	if lease.Expires().IsZero() {
		time.Sleep(10 * store.LeaseTime)
		isHeld(t, b, "doc", "long after the last renewal")
		hasEnded(t, lease, false, "long after the last renewal")
		lease.Release()
		return
	}

	hasEnded(t, lease, false, "before it expires")
	<-lease.Done()
	if late := time.Since(lease.Expires()); late < 0 || late > time.Second {
		t.Errorf("it ended %v after it expired", late)
	}
	hasEnded(t, lease, true, "after it expired")
	next := must(b.Lease(t.Context(), "doc"))(t)
	hasEnded(t, lease, true, "while another holds it")
	lease.Release()
	isHeld(t, a, "doc", "after the holder whose lease expired released it")
	next.Release()
}

func isHeld(t *testing.T, s store.Store, name, when string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	if lease, err := s.Lease(ctx, name); err == nil {
		lease.Release()
		t.Errorf("%s: nobody holds the lease", when)
	} else if waited := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || waited != time.Second {
		t.Errorf("%s: %v after %v", when, err, waited)
	}
}

func hasEnded(t *testing.T, l store.Lease, want bool, when string) {
	t.Helper()
	ended := false
	select {
	case <-l.Done():
		ended = true
	default:
	}
	if ended != want {
		t.Errorf("%s: Done is closed: %v", when, ended)
	}
	if !want {
		return
	}
	if err := l.Renew(t.Context()); !errors.Is(err, store.ErrLeaseEnded) {
		t.Errorf("%s: Renew: %v", when, err)
	}
}
