package engine

import (
	"slices"
	"strings"

	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// replyError turns a server's error reply into the error of its command.
func replyError(command, addr string, reply []byte) error {
	return wire.Named(command, addr, wire.ReplyError(reply))
}

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

// saidIn returns the text of the error reply, to a handshake or to a command, that err is
// about; "" if it is about none.
func saidIn(err error) string {
	if refused := wire.Refusal(err); refused != nil {
		return wire.RefusalText(refused)
	}
	text, _ := cause.SaidIn(err)
	return text
}
