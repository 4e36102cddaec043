package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/command"
)

// Overrides are what a client's settings say: which commands are slow, in upper
// case, whatever the default says.
type Overrides map[string]bool

// SlowOnly returns that the named commands are slow and no others, or an error about the name that
// is none. Without a list, the default holds.
func SlowOnly(names []string) (Overrides, error) {
	if names == nil {
		return nil, nil
	}
	o := make(Overrides)
	for _, name := range command.SlowNames() {
		o[name] = false
	}
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, " \t\r\n|") {
			return nil, fmt.Errorf("cluster: Slow[%d] = %q: want the name of a command, such as HGETALL", i, name)
		}
		if name = strings.ToUpper(name); slices.Contains(command.SlowNames(), name) {
			delete(o, name) // MGET is slow with many keys
		} else {
			o[name] = true
		}
	}
	return o, nil
}
