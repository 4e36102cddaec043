package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/lanes"
)

func nestedReply(depth int) string { return strings.Repeat("*1\r\n", depth) + ":1\r\n" }

// A reply that is nested too deep, or has too many attributes, costs its own
// command and nobody else.
func TestTooDeepEndsThatCommandOnly(t *testing.T) {
	bulk := "$40000\r\n" + strings.Repeat("x", 40000) + "\r\n" // more than the read buffer: not through it
	for name, c := range map[string]struct {
		limits lanes.Limits
		reply  string
		want   string
	}{
		"depth":         {lanes.Limits{}, nestedReply(1025), "TOODEEP "},
		"small depth":   {lanes.Limits{Depth: 1}, "*3\r\n" + bulk + "*1\r\n" + bulk + bulk, "TOODEEP "},
		"attributes":    {lanes.Limits{Attributes: 10_000}, strings.Repeat("|0\r\n", 100_000) + "+OK\r\n", "TOOMANY "},
		"few, and push": {lanes.Limits{Attributes: 1}, "|0\r\n|0\r\n>1\r\n" + bulk + "|0\r\n|0\r\n" + bulk, "TOOMANY "},
	} {
		t.Run(name, func(t *testing.T) {
			addr := scripted(t, func(p *peer) {
				if p.take(3) && p.send("+before\r\n"+c.reply+"+behind\r\n") {
					p.echo()
				}
			})
			l := dialWith(t, lanes.Dialer{Limits: c.limits}, addr, noEvents{})
			b := newTrip([]string{"GET", "a"}, []string{"EVAL", "x"}, []string{"GET", "b"})
			RoundTrip(within(t, patience), l, b)
			got := b.texts()
			require.Equal(t, "+before\r\n", got[0])
			require.True(t, strings.HasPrefix(got[1], "-"+c.want), "%.100q", got[1])
			require.Equal(t, "+behind\r\n", got[2])
			require.Equal(t, 1, b.Errors())
			require.Less(t, cap(b.buf), 1<<20, "what is refused is not kept")
			require.NoError(t, l.ping(t), "the lane is in step")

			require.Contains(t, got[1], "the command ran")
		})
	}
}

// Half of a refused reply has arrived when its caller leaves.
func TestAbandonedReplyThatIsRefused(t *testing.T) {
	half, arrived := make(chan bool), make(chan bool)
	addr := scripted(t, func(p *peer) {
		if !p.take(1) {
			return
		}
		p.send("*2\r\n*2\r\n:1\r\n")
		close(arrived)
		<-half
		p.send(":2\r\n*1\r\n:3\r\n")
		p.echo()
	})
	l := dialWith(t, lanes.Dialer{Limits: lanes.Limits{Depth: 1}}, addr, noEvents{})
	b := begun([]string{"EVAL", "x"})
	require.True(t, l.Submit(b))
	Flush([]*Batch{b})
	<-arrived
	b.Abandon(t.Context().Err())
	close(half)
	require.NoError(t, l.ping(t))
}

// TestLimitsOfTheDialerHold: a reply that is larger than a limit closes the lane. The limit of a whole reply holds
// inside of a bulk string, too.
func TestLimitsOfTheDialerHold(t *testing.T) {
	for name, c := range map[string]struct {
		limits lanes.Limits
		reply  string
		says   string
	}{
		"a bulk string": {lanes.Limits{Bulk: 1024}, "$1025\r\n", "1025"},
		"a whole reply": {lanes.Limits{Reply: 100_000}, fmt.Sprintf("$%d\r\n%s\r\n", 1<<20, strings.Repeat("x", 1<<20)), "more than 100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := scripted(t, func(p *peer) {
				if p.take(1) && p.send(c.reply) {
					p.echo()
				}
			})
			l := dialWith(t, lanes.Dialer{Limits: c.limits}, addr, noEvents{})
			b := newTrip([]string{"GET", "k"})
			RoundTrip(within(t, patience), l, b)
			_, err := b.Reply(0)
			wantOutcome(t, err, redislanes.ErrUnknownOutcome)
			require.ErrorIs(t, err, resp.ErrProtocol)
			require.ErrorContains(t, err, c.says)
		})
	}
}
