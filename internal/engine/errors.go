package engine

import (
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
)

func commandName(command []byte) string {
	return strings.ToUpper(resp.CommandName(command))
}

// withRest adds the addresses that have no cause yet.
func withRest(e *cause.Unreachable, addrs []string, err error) *cause.Unreachable {
	for _, addr := range addrs {
		if !slices.ContainsFunc(e.Causes, func(c cause.OfAddr) bool { return c.Addr == addr }) {
			e.Causes = append(e.Causes, cause.OfAddr{Addr: addr, Err: err})
		}
	}
	return e
}
