package cluster_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/cluster"
	"github.com/redislanes/redislanes/internal/servers"
)

// TestErrorsShowNoArguments: whatever command of the server fails with whatever arguments, its
// error does not show them.
func TestErrorsShowNoArguments(t *testing.T) {
	t.Parallel()
	real := servers.StartServer(t, servers.Options{})
	if real.Major() < 7 {
		t.Skip("COMMAND LIST needs Redis 7")
	}
	ctx := within(t, time.Minute)
	client := open(t, cluster.Config{}, real.Addrs())
	names, err := cluster.As[[]string](client.Cmd(ctx, "COMMAND", "LIST"))
	require.NoError(t, err)
	for _, sub := range []string{"LOAD", "DELETE", "DUMP", "FLUSH", "LIST", "RESTORE"} {
		names = append(names, "FUNCTION "+sub)
	}
	for _, sub := range []string{"SETUSER", "LOAD", "CAT", "LOG", "DRYRUN", "GENPASS"} {
		names = append(names, "ACL "+sub)
	}
	const canary = "canary"
	shapes := []string{canary, "s " + canary, "1 " + canary, "s 1 " + canary, "s 1 2 " + canary, "1 s " + canary + " " + canary, "s s " + canary + " " + canary}
	for n := range 3 {
		shapes = append(shapes, canary+strings.Repeat(" "+canary, n+1))
	}
	without := []string{"debug", "failover", "flushall", "flushdb", "replicaof", "save", "bgsave", "shutdown", "slaveof"}
	failed := 0
	for _, name := range names {
		if slices.Contains(without, name) {
			continue
		}
		for _, shape := range shapes {
			words := strings.Fields(name + " " + shape)
			short := within(t, 100*time.Millisecond) // for those that block
			if err := client.Cmd(short, words[0], words[1:]).Err(); err != nil {
				failed++
				require.NotContains(t, err.Error(), canary, "%s %s", name, shape)
			}
		}
	}
	require.Greater(t, failed, 1000)
}
