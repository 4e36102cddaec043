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
		{errIdle, redislanes.CloseIdle}, {errUnclean, redislanes.CloseUnclean}, {errRenewed, redislanes.CloseRenewed}, {errAged, redislanes.CloseAged}, {cause.ErrStalled, redislanes.CloseStalled}, {errSlow, redislanes.CloseStalled},
		{redislanes.ErrClosed, redislanes.CloseByClient}, {cause.ErrRetired, redislanes.CloseByClient}, {wire.ErrClosed, redislanes.CloseByClient}, {io.EOF, redislanes.CloseByServer},
		{resp.ErrProtocol, redislanes.CloseProtocol}, {os.ErrDeadlineExceeded, redislanes.CloseTimeout},
	} {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return redislanes.CloseIOFailure
}
