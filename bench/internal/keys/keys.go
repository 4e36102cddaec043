// Package keys makes the names of the keys of a load, before the clock starts.
package keys

import (
	"fmt"

	"github.com/redislanes/redislanes/cluster"
)

// Many returns names that a request draws from.
func Many(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%suser-%06d:minute", prefix, i)
	}
	return all
}

// Fixed returns names that all requests have. Each third of the slots has as many as the
// others: by their names alone, all of them could be on one node.
func Fixed(prefix string, n int) (names []string) {
	for i := 0; len(names) < n; i++ {
		name := fmt.Sprintf("%severybody-%d:minute", prefix, i)
		if int(cluster.Slot(name))*3/cluster.SlotCount == len(names)%3 {
			names = append(names, name)
		}
	}
	return names
}
