package nodepool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

// TestLoadIsWhatIsInFlight: a caller that has its reply, and makes its next
// request before the connection is free again, is one caller and not two.
func TestLoadIsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	p := open(t, Adaptive{Min: 1, Max: 2}, servers.StartServer(t, servers.Options{}))
	_ = get(t, p, "k")
	until(t, "the connection is idle", func() bool { return p.figures().Idle == 1 })
	p.main.mu.Lock()
	defer p.main.mu.Unlock()
	m := p.main.members[0]
	m.state = busy // as long as its lane has not told the pool
	require.Zero(t, p.main.members.load())
	m.state = dedicated
	require.Equal(t, 1, p.main.members.load())
	m.state = isIdle
}
