package sim

import (
	"fmt"
	"time"

	"github.com/mediocregopher/radix/v4/resp/resp3"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/cause"
)

var errOvertaken = fmt.Errorf("%w: %w", cause.ErrOvertaken, redislanes.ErrRefused)

// errUnserved is of a slot that nobody has served for three seconds.
func errUnserved(h *History) error {
	said := resp3.SimpleError{S: "CLUSTERDOWN Hash slot not served"}
	return &redislanes.Error{
		Outcome: redislanes.ErrRefused, Since: h.Start.Add(21 * time.Second), Cause: &cause.Tried{Where: "slot 7", For: 3 * time.Second, Err: said},
	}
}

// refuse adds a call of two reads of which the first is refused.
func refuse(h *History, err error) {
	refused, get := Command{Text: "GET k", Name: "GET", Key: "k"}, Command{Text: "GET k", Name: "GET", Key: "k", Outcome: Acked, Reply: "k=2"}
	refused.settle("", err)
	at := 24 * time.Second
	h.Calls = append(h.Calls, &Call{ID: 98, Kind: "values", Began: at, Ended: at + time.Millisecond, Err: err, Commands: []Command{refused, get}})
}
