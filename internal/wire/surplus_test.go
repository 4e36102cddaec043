package wire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// TestSurplusReplyIsNobodys: the server sends one more reply than it was asked for, once its lane
// is idle and nobody reads. The next batch must not take it for its own. A push is no reply.
func TestSurplusReplyIsNobodys(t *testing.T) {
	for surplus, harmless := range map[string]bool{
		":7\r\n": false, "+OK\r\n": false, "-ERR late\r\n": false, "$-1\r\n": false,
		"": true, ">1\r\n+x\r\n": true, "|1\r\n+k\r\n+v\r\n>1\r\n+x\r\n": true,
	} {
		late, sent := make(chan struct{}), make(chan struct{})
		addr := listen(t, func(p *peer) {
			p.take(2)
			p.send("+OK\r\n+OK\r\n")
			for {
				command, err := p.command()
				if err != nil {
					return
				}
				p.send("+" + command[0] + "\r\n")
				if command[0] == "LAST" {
					<-late
					p.send(surplus)
					close(sent)
				}
			}
		})
		l, err := DialFor(within(t, patience), lanes.Dialer{}, Purpose{}, addr)
		require.NoError(t, err)
		quieten(t, l)
		_, err = Ask(within(t, patience), l, []string{"LAST"}).Reply(0)
		require.NoError(t, err)
		close(late)
		<-sent
		until(t, "the lane is idle for long, and the bytes have arrived", func() bool {
			next, _ := l.plain.ended()
			idle := int64(Now())-l.restedAt.Load() > int64(idleLeast)
			return idle && (l.role() == background || (next != 0) == (surplus != "")) // on a busy machine it has taken over
		})
		reply, err := Ask(within(t, patience), l, []string{"NEXT"}).Reply(0)
		if harmless {
			require.NoError(t, err)
			require.Equal(t, "+NEXT\r\n", string(reply))
		} else {
			require.ErrorIs(t, err, redislanes.ErrNotSent, "%q: %s", surplus, reply)
			require.ErrorIs(t, err, resp.ErrProtocol)
		}
		require.NoError(t, l.Close())
	}
}
