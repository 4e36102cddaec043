package main

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

func testSettings() settings { return settings{keys: 100, nodeTimeout: 2 * time.Second} }

func draw(seed uint64, episode, n int) (*plan, []fault) {
	p := newPlan(seed, episode, testSettings())
	faults := make([]fault, n)
	for i := range faults {
		faults[i] = p.next()
	}
	return p, faults
}

func TestSameSeedSameFaults(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{0, 1, 1 << 63} {
		_, first := draw(seed, 3, 200)
		_, again := draw(seed, 3, 200)
		if !reflect.DeepEqual(first, again) {
			t.Errorf("seed %d: two plans differ", seed)
		}
		if _, other := draw(seed, 4, 200); reflect.DeepEqual(first, other) {
			t.Errorf("seed %d: two episodes are the same", seed)
		}
		if _, other := draw(seed+1, 3, 200); reflect.DeepEqual(first, other) {
			t.Errorf("seeds %d and %d are the same", seed, seed+1)
		}
	}
}

func TestPlanBySort(t *testing.T) {
	t.Parallel()
	sorts := map[bool]bool{}
	for episode := range 20 {
		p, faults := draw(7, episode, 500)
		sorts[p.lossy] = true
		drawn := map[kind]bool{}
		losing, longStop := false, false
		for _, f := range faults {
			drawn[f.kind] = true
			losing = losing || f.mayLose(p.nodeTimeout)
			longStop = longStop || f.kind == stop && f.hold > p.nodeTimeout
			checkFault(t, f)
		}
		want := losslessKinds
		if p.lossy {
			want = lossyKinds
		}
		for _, k := range want {
			if !drawn[k] {
				t.Errorf("episode %d, lossy %t: no %s in %d faults", episode, p.lossy, k, len(faults))
			}
		}
		if len(drawn) != len(want) || losing != p.lossy || longStop != p.lossy {
			t.Errorf("episode %d, lossy %t: %d kinds, losing %t, a stop beyond the node timeout %t", episode, p.lossy, len(drawn), losing, longStop)
		}
	}
	if len(sorts) != 2 {
		t.Errorf("of 20 episodes all have lossy = %v", sorts)
	}
}

func checkFault(t *testing.T, f fault) {
	t.Helper()
	slots := slices.Clone(f.slots)
	slices.Sort(slots)
	distinct := len(slices.Compact(slots))
	switch {
	case f.kind == reshard && (len(f.slots) < 1 || len(f.slots) > maxReshard || distinct != len(f.slots)):
		t.Errorf("reshard of slots %v", f.slots)
	case f.hold < 0 || f.hold > 6*time.Second:
		t.Errorf("%s", f)
	case f.quiet < 300*time.Millisecond || f.quiet > time.Second:
		t.Errorf("%s: quiet for %v afterwards", f, f.quiet)
	}
}

func TestMayLose(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault fault
		want  bool
	}{
		{fault{kind: reshard, hold: time.Hour}, false},
		{fault{kind: failover}, false},
		{fault{kind: clientKill}, false},
		{fault{kind: force}, true},
		{fault{kind: takeover}, true},
		{fault{kind: kill}, true},
		{fault{kind: hangUp}, true},
		{fault{kind: standalone}, true},
		{fault{kind: shardLost}, true},
		{fault{kind: throttle, hold: time.Hour}, false},
		{fault{kind: stop, hold: 800 * time.Millisecond}, false},
		{fault{kind: stop, hold: 801 * time.Millisecond}, true},
		{fault{kind: debugSleep, hold: time.Second}, true},
		{fault{kind: clientPause, hold: 500 * time.Millisecond}, false},
	} {
		if got := test.fault.mayLose(2 * time.Second); got != test.want {
			t.Errorf("%s: %t, want %t", test.fault, got, test.want)
		}
	}
}
