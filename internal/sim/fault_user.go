package sim

import (
	"slices"
	"time"
)

// userKinds are what users' functions do.
func userKinds() []kind {
	return []kind{{name: "panics", weight: 3, least: time.Second, most: 5 * time.Second, begin: panics}}
}

func panics(w *world, _ Fault) func() {
	w.user.panicking.Store(true)
	return func() { w.user.panicking.Store(false) }
}

// allKinds are all kinds of fault.
func allKinds() []kind {
	return slices.Concat(networkKinds(), clusterKinds(), replyKinds(), userKinds(), stepKinds())
}
