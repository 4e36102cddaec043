package sim

import (
	"context"

	"github.com/mediocregopher/radix/v4"
)

// refusedPipeline has a command that the server refuses, for an argument that no error may
// show.
func (a *attempt) refusedPipeline() {
	a.Misuse = true
	key := "w" + a.own()
	p := radix.NewPipeline()
	p.Append(radix.Cmd(nil, "SET", key, a.value(key)))
	p.Append(radix.Cmd(nil, "INCRBY", key, a.value(key)))
	if chance(a.r, 2) {
		a.Err = a.w.client.Do(a.ctx, p)
		return
	}
	a.Err = a.w.client.Do(a.ctx, radix.WithConn(key, func(ctx context.Context, conn radix.Conn) error { return conn.Do(ctx, p) }))
}
