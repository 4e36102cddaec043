package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/lanes"
)

// TestErrorRepliesAreCounted: each by the first word of its text, however its bytes
// arrive, and only if it is the reply itself.
func TestErrorRepliesAreCounted(t *testing.T) {
	replies := []string{
		"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
		":1\r\n",
		"-MOVED 866 127.0.0.1:7001\r\n",
		"-CANARY made up by the server\r\n",
		"-ERR\r\n",
		"!21\r\nSYNTAX invalid syntax\r\n",
		"*2\r\n-OOM inside of another reply\r\n:1\r\n",
		"|1\r\n+k\r\n+v\r\n-OOM with attributes\r\n",
		"+OOM\r\n",
	}
	l := dial(t, scripted(t, func(p *peer) {
		if !p.take(len(replies)) {
			return
		}
		for _, b := range []byte(strings.Join(replies, "")) {
			if !p.send(string(b)) {
				return
			}
		}
		p.take(1)
	}))
	var count ErrorCount
	l.errorReplies = &count
	commands := make([][]string, len(replies))
	for i := range commands {
		commands[i] = []string{"GET", "k"}
	}
	b := newTrip(commands...)
	RoundTrip(within(t, patience), l, b)
	require.Equal(t, replies, b.texts())
	require.Equal(t, map[string]uint64{"OOM": 2, "MOVED": 1, "ERR": 1, "other": 2}, count.ByCode())
}

// TestErrorRepliesBeforeTheEndAreCounted: those of a batch that does not get all of
// its replies, as well.
func TestErrorRepliesBeforeTheEndAreCounted(t *testing.T) {
	l := dial(t, scripted(t, func(p *peer) {
		p.take(2)
		p.send("-NOPERM no\r\n")
	}))
	var count ErrorCount
	l.errorReplies = &count
	b := newTrip([]string{"GET", "k"}, []string{"GET", "k"})
	RoundTrip(within(t, patience), l, b)
	require.True(t, b.Failed())
	require.Equal(t, map[string]uint64{"NOPERM": 1}, count.ByCode())
}

// TestRefusalsOfOurOwnAreNotCounted: an error reply that stands for a reply beyond a limit
// is none of the server's.
func TestRefusalsOfOurOwnAreNotCounted(t *testing.T) {
	l := dialWith(t, lanes.Dialer{Limits: lanes.Limits{Depth: 1}}, scripted(t, func(p *peer) {
		p.take(2)
		p.send("*1\r\n*1\r\n:1\r\n-OOM no\r\n")
		p.take(1)
	}), noEvents{})
	var count ErrorCount
	l.errorReplies = &count
	b := newTrip([]string{"GET", "k"}, []string{"GET", "k"})
	RoundTrip(within(t, patience), l, b)
	require.Equal(t, 2, b.Errors())
	require.Equal(t, map[string]uint64{"OOM": 1}, count.ByCode())
}

// TestErrorRepliesOfPingsAreNotCounted: a server that permits no PING refuses nothing
// that a caller wants.
func TestErrorRepliesOfPingsAreNotCounted(t *testing.T) {
	l := dial(t, scripted(t, func(p *peer) {
		p.take(1)
		p.send("-NOPERM no\r\n")
		p.take(1)
	}))
	var count ErrorCount
	l.errorReplies = &count
	b := newTrip([]string{"PING"})
	b.uncounted = true
	RoundTrip(within(t, patience), l, b)
	require.Equal(t, 1, b.Errors())
	require.Empty(t, count.ByCode())
}

func TestErrorCode(t *testing.T) {
	for text, want := range map[string]string{
		"OOM": "OOM", "OOM x": "OOM", "oom x": "other", "": "other", " OOM": "other", "other": "other", "OOMX y": "other",
		"CLUSTERDOWN Hash slot not served": "CLUSTERDOWN",
	} {
		require.Equal(t, want, ErrorCode([]byte(text)), text)
	}
	codes := ErrorCodes()
	require.Equal(t, "other", codes[len(codes)-1])
	for _, code := range codes {
		require.Equal(t, code, ErrorCode([]byte(code+" x")))
	}
	text := []byte("TRYAGAIN Multiple keys request during rehashing of slot")
	require.Zero(t, testing.AllocsPerRun(100, func() { ErrorCode(text) }))
}
