package nodepool

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

var (
	errClosed  = fmt.Errorf("the pool is %w", redislanes.ErrClosed)
	errIdle    = errors.New("connection idle")
	errSlow    = errors.New("connection slow: replies took much longer than on others to this server")
	errUnclean = errors.New("connection changed by its user")
)

func closeReason(err error) string {
	for _, r := range []struct {
		err    error
		reason string
	}{
		{errIdle, "idle"}, {errUnclean, "unclean"}, {errRenewed, "renewed"}, {errAged, "aged"}, {cause.ErrStalled, "stalled"}, {errSlow, "stalled"},
		{redislanes.ErrClosed, "client"}, {cause.ErrRetired, "client"}, {wire.ErrClosed, "client"}, {io.EOF, "server"},
		{resp.ErrProtocol, "protocol"}, {os.ErrDeadlineExceeded, "timeout"},
	} {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return "io"
}
