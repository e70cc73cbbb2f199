package pool

import (
	"fmt"
	"testing"

	"shunt/internal/identity"
)

func keyOf(name string) identity.Key { return identity.OfAccount("claude", name, "") }

// SEL-1: the hash never changes and is the same on every machine; another program computed these values.
func TestHashIsStable(t *testing.T) {
	const id = "5f0c6a3e-7d55-4b7e-9c2f-0a1b2c3d4e5f"
	s := SessionOf(id)
	if s != 0x8a1d9a4e3f220f97 {
		t.Errorf("session %#x", uint64(s))
	}
	if got := s.String(); got != "8a1d9a4e" {
		t.Errorf("shown as %q", got)
	}
	for name, want := range map[string]uint64{
		"a": 0x3d8fcdceb093f6f7, "b": 0x9319ec5a814fd7e1, "c": 0xc8967abe23eb3b4b,
	} {
		if got := weight(s, seedOf(keyOf(name))); got != want {
			t.Errorf("weight on %s is %#x, want %#x", name, got, want)
		}
	}
}

// SEL-2: a blank session ID does not identify a conversation.
func TestBlankSession(t *testing.T) {
	for _, id := range []string{"", " ", "\t  "} {
		if s := SessionOf(id); s != 0 {
			t.Errorf("%q is session %v", id, s)
		}
	}
}

// homes counts the sessions whose home is each of n identities.
func homes(n, sessions int) []int {
	members := make([]Member, n)
	for i := range members {
		members[i] = NewMember(Account{Key: keyOf(fmt.Sprintf("account-%d", i))}, newHealth())
	}
	counts := make([]int, n)
	for i := range sessions {
		counts[homeOf(members, SessionOf(fmt.Sprintf("session-%d", i)))]++
	}
	return counts
}

// SEL-1: sessions spread evenly, by a chi-square test at the 0.1 % level. The hash is fixed, so the result is too.
func TestHomesAreBalanced(t *testing.T) {
	const sessions = 50_000
	for n, critical := range map[int]float64{2: 10.83, 3: 13.82, 10: 27.88, 50: 85.35} {
		want := float64(sessions) / float64(n)
		var chi2 float64
		counts := homes(n, sessions)
		for _, c := range counts {
			d := float64(c) - want
			chi2 += d * d / want
		}
		if chi2 > critical {
			t.Errorf("%d identities: chi-square %.1f > %.1f: %v", n, chi2, critical, counts)
		}
	}
}

// SEL-1: second choices spread as evenly as first ones, so that the sessions of a failed account do not all land on one other.
func TestSecondChoicesAreBalanced(t *testing.T) {
	const n, sessions = 6, 60_000
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = seedOf(keyOf(fmt.Sprintf("account-%d", i)))
	}
	var pairs [n][n]int
	for i := range sessions {
		s := SessionOf(fmt.Sprintf("session-%d", i))
		first, second := 0, -1
		for j := 1; j < n; j++ {
			switch {
			case weight(s, seeds[j]) > weight(s, seeds[first]):
				first, second = j, first
			case second < 0 || weight(s, seeds[j]) > weight(s, seeds[second]):
				second = j
			}
		}
		pairs[first][second]++
	}
	const want = float64(sessions) / (n * (n - 1))
	var chi2 float64
	for first := range pairs {
		for second, c := range pairs[first] {
			if first != second {
				d := float64(c) - want
				chi2 += d * d / want
			}
		}
	}
	if chi2 > 58.3 { // 29 degrees of freedom, 0.1 %
		t.Errorf("chi-square %.1f: %v", chi2, pairs)
	}
}
