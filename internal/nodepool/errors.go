package nodepool

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// Reasons why connections are closed, as Stats.Closes counts them.
const (
	CloseByClient  = "client"   // the pool was closed, or its server has left the cluster
	CloseIdle      = "idle"     // the pool shrank
	CloseStalled   = "stalled"  // the server was silent too long
	CloseByServer  = "server"   // the server hung up
	CloseTimeout   = "timeout"  // the socket accepted no bytes
	CloseProtocol  = "protocol" // the server sent what is not RESP
	CloseUnclean   = "unclean"  // its user left a transaction open, or the like
	CloseRenewed   = "renewed"  // the address may lead to another server now
	CloseAged      = "aged"     // it had reached MaxAge, or was lent for long when others were authenticated again
	CloseIOFailure = "io"       // reset, unreachable and the like
)

var (
	errClosed  = fmt.Errorf("the pool is %w", redislanes.ErrClosed)
	errIdle    = errors.New("connection idle")
	errUnclean = errors.New("connection left in an unknown state by its user")

	errNilAction  = errors.New("the action is nil")
	errNilContext = errors.New("the context is nil: pass one, such as context.Background()")
)

func closeReason(err error) string {
	for _, r := range []struct {
		err    error
		reason string
	}{
		{errIdle, CloseIdle}, {errUnclean, CloseUnclean}, {errRenewed, CloseRenewed}, {errAged, CloseAged}, {errExpiring, CloseAged}, {redislanes.ErrStalled, CloseStalled},
		{redislanes.ErrClosed, CloseByClient}, {redislanes.ErrRetired, CloseByClient}, {wire.ErrClosed, CloseByClient}, {io.EOF, CloseByServer},
		{resp.ErrProtocol, CloseProtocol}, {os.ErrDeadlineExceeded, CloseTimeout},
	} {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return CloseIOFailure
}
