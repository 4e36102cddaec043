package sim

import (
	"slices"
	"time"
)

// userKinds are what users' functions do.
func userKinds() []kind {
	const late = 100 * slowness // for a call that calls several functions
	inMood := func(m mood) func(w *world, f Fault) func() {
		return func(w *world, _ Fault) func() {
			w.user.mood.Store(int32(m))
			return func() { w.user.mood.Store(int32(well)) }
		}
	}
	return []kind{
		{name: "slow functions", weight: 1, least: time.Second, most: 5 * time.Second, slack: late, begin: inMood(slow)},
		{name: "panics", weight: 2, least: time.Second, most: 5 * time.Second, begin: inMood(panicking)},
		{name: "re-entrance", weight: 1, least: time.Second, most: 5 * time.Second, slack: late, begin: inMood(reentrant)},
		{name: "wild functions", weight: 1, least: time.Second, most: 5 * time.Second, slack: late, begin: inMood(wild)},
	}
}

// allKinds are all kinds of fault.
func allKinds() []kind {
	return slices.Concat(networkKinds(), clusterKinds(), replyKinds(), userKinds(), stepKinds())
}
