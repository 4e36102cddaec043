package wire

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

// A parting connection returns the end of the stream together with the last bytes, as TLS 1.2 does with
// close_notify.
type parting struct {
	net.Conn
	parts bool
}

func (c *parting) Read(p []byte) (n int, err error) {
	if n, err = c.Conn.Read(p); err == nil && c.parts {
		err = io.EOF
	}
	return n, err
}

// asking is Events that ask whether the lane takes a batch when another one has its replies.
type asking struct {
	noEvents
	took chan bool
}

func (a asking) Answered(l *Lane) {
	took, _ := l.Dispatch(newTrip([]string{"INCR", "k"}), 10)
	a.took <- took
}

// TestNothingIsSentAfterTheEnd: a lane that has read the end of its stream together with a reply takes no
// batch: its outcome would be unknown for no reason.
func TestNothingIsSentAfterTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		parts bool
		cause error
	}{
		"the end":                    {"+OK\r\n", true, io.EOF},
		"the end behind no reply":    {"+OK\r\n!!!\r\n", true, resp.ErrProtocol},
		"no reply behind the reply":  {"+OK\r\n!!!\r\n", false, resp.ErrProtocol},
		"nothing but the reply":      {"+OK\r\n", false, nil},
		"a push, and then no reply":  {">1\r\n+hi\r\n+OK\r\n!!!\r\n", false, resp.ErrProtocol},
		"a push, and the end":        {">1\r\n+hi\r\n+OK\r\n", true, io.EOF},
		"the end behind half a push": {"+OK\r\n>1\r\n", true, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			conn := relayed(near, patience).(*relay)
			conn.Conn = &parting{conn.Conn, c.parts}
			events := asking{took: make(chan bool, 1)}
			l := newLane("pipe:1", conn, dialer{Dialer: WithDefaults(lanes.Dialer{})}, Owner{Events: events})
			defer l.Close()
			b := newTrip([]string{"PING"})
			done := start(within(t, patience), l, b)
			p := newPeer(far)
			require.True(t, p.take(1))
			go p.send(c.reply)
			await(t, "the reply", done)
			require.Equal(t, "+OK\r\n", b.texts()[0])
			require.Equal(t, c.cause == nil, <-events.took)
			if c.cause != nil {
				<-l.ended
				require.ErrorIs(t, l.err, c.cause)
			}
		})
	}
}
