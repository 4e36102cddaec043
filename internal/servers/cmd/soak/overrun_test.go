package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOverruns(t *testing.T) {
	t.Parallel()
	var a, b overruns
	for _, ms := range []int{-3, 0, 1, 5, 6, 21, 60} {
		a.add(overrun{by: time.Duration(ms) * time.Millisecond, during: "a"})
	}
	for ms := range 20 {
		b.add(overrun{by: time.Duration(ms+90) * time.Millisecond, at: time.Second, during: "b"})
	}
	if a.late != 5 || a.over != [...]int64{3, 2, 2, 1, 0} || a.max() != 60*time.Millisecond {
		t.Errorf("a: late %d, over the limits %v, at most %v", a.late, a.over, a.max())
	}
	a.merge(&b)
	if a.late != 25 || a.over != [...]int64{23, 22, 22, 21, 9} || a.max() != 109*time.Millisecond {
		t.Errorf("both: late %d, over the limits %v, at most %v", a.late, a.over, a.max())
	}
	falling := slices.IsSortedFunc(a.worst, func(x, y overrun) int { return cmp.Compare(y.by, x.by) })
	if len(a.worst) != worstKept || !falling || a.worst[worstKept-1].by != 100*time.Millisecond {
		t.Errorf("the worst: %v", a.worst)
	}
	if text := a.summary().String(); !strings.Contains(text, "25 times, >5ms 23, ") || !strings.Contains(text, "worst 109.0 ms at 1.000 s, during b") {
		t.Errorf("%s", text)
	}
	var none overruns
	if text := none.summary().String(); none.max() != 0 || !strings.HasPrefix(text, "0 times") {
		t.Errorf("no overruns: %v, %s", none.max(), text)
	}
}
