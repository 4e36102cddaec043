package migrate

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/mediocregopher/radix/v4/resp/resp3"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
)

// subscribed notes what comes to the subscriber, from a publisher at the same node.
func (p *program) subscribed(conn radix.PubSubConn, addr string) {
	publisher, err := radix.Dial(p.ctx, "tcp", addr)
	require.NoError(p, err)
	defer publisher.Close()
	publish := func(channel string) {
		require.NoError(p, publisher.Do(p.ctx, radix.Cmd(nil, "PUBLISH", channel, "of "+channel)))
	}
	require.NoError(p, conn.Subscribe(p.ctx, "news", "more"))
	require.NoError(p, conn.PSubscribe(p.ctx, "w*"))
	require.NoError(p, conn.Ping(p.ctx))
	for _, channel := range []string{"other", "news", "weather", "more"} {
		publish(channel)
	}
	for range 3 {
		message, err := conn.Next(p.ctx)
		p.saw("message", told(err), message.Type, message.Pattern, message.Channel, string(message.Message))
	}
	require.NoError(p, conn.Unsubscribe(p.ctx, "news"))
	require.NoError(p, conn.PUnsubscribe(p.ctx))
	publish("news")
	publish("more")
	message, err := conn.Next(p.ctx)
	p.saw("after Unsubscribe", told(err), message.Channel, string(message.Message))
	ctx, cancel := context.WithTimeout(p.ctx, 50*time.Millisecond)
	defer cancel()
	_, err = conn.Next(ctx)
	p.saw("at a deadline", told(err))
}

// dial returns a connection for pub/sub: of Client.Dial, or of radix.Dial over radix's client.
func (p *program) dial(addr string) radix.Conn {
	dial := func() (radix.Conn, error) {
		return radix.Dialer{Protocol: strconv.Itoa(p.protocol)}.Dial(p.ctx, "tcp", addr)
	}
	if p.ours {
		dial = func() (radix.Conn, error) { return p.client.(*cluster.Client).Dial(p.ctx, addr) }
	}
	conn, err := dial()
	require.NoError(p, err)
	return conn
}

// pubSubDial subscribes on a connection with the client's settings.
func pubSubDial(p *program) {
	conn := p.dial(p.servers.Addrs()[0])
	own := radix.PubSubConfig{}.New(conn)
	p.subscribed(own, conn.Addr().String())
	p.saw("Close", told(own.Close()))
	var n int
	p.saw("the client goes on", told(p.client.Do(p.ctx, radix.Cmd(&n, "INCR", "k"))), n)
}

// pubSubSharded subscribes to a channel of a slot, which radix has no methods for.
func pubSubSharded(p *program) {
	const channel = "{shard}news"
	known, err := p.servers.Nodes()[0].Knows(p.ctx, "SSUBSCRIBE")
	require.NoError(p, err)
	if !known {
		p.Skip("the server does not know SSUBSCRIBE")
	}
	var topo radix.ClusterTopo
	p.do(radix.Cmd(&topo, "CLUSTER", "SLOTS"))
	owner := slices.IndexFunc(topo, func(n radix.ClusterNode) bool {
		return n.SecondaryOfAddr == "" && slices.ContainsFunc(n.Slots, func(r [2]uint16) bool { return r[0] <= cluster.Slot(channel) && cluster.Slot(channel) < r[1] })
	})
	conn := p.dial(topo[owner].Addr)
	defer conn.Close()
	var said [2]resp3.RawMessage
	require.NoError(p, conn.EncodeDecode(p.ctx, radix.Cmd(nil, "SSUBSCRIBE", channel), &said[0]))
	p.do(radix.Cmd(nil, "SPUBLISH", channel, "of the shard"))
	require.NoError(p, conn.EncodeDecode(p.ctx, nil, &said[1]))
	p.saw("messages", string(said[0]), string(said[1]))
	p.saw("the slot", cluster.Slot(channel))
}
