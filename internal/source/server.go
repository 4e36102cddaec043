package source

import (
	"context"

	"github.com/redislanes/redislanes/internal/slots"
	"github.com/redislanes/redislanes/internal/wire"
)

// A Server is servers without cluster mode, or proxies, that are asked for nothing but PING: each that
// answers has all slots.
type Server struct{ Nodes }

// Ask is part of [Source].
func (s Server) Ask(ctx context.Context, addr string, open wire.Submitter, _ *slots.Map) (slots.Answer, error) {
	_, err := ask(ctx, s.Dialer, wire.Purpose{}, addr, open, []string{"PING"})
	return slots.Answer{Addr: addr, Map: slots.Single(addr)}, err
}

// Purpose is part of [Source].
func (Server) Purpose(bool, func(string, []byte) error) wire.Purpose { return wire.Purpose{} }
