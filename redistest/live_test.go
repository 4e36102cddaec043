package redistest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mediocregopher/radix/v4"
	"github.com/stretchr/testify/require"

	"github.com/redislanes/redislanes/internal/servers"
)

// A step is a command, its words separated by blanks, and what its reply contains.
type step struct{ command, want string }

// rules are sessions with a node that has slots 0 and 1, but not 16383, and wants a password.
func rules() map[string][]step {
	const nonLocal = "Script attempted to access a non local key in a cluster node"
	names := strings.NewReplacer("$a", KeyInSlot(0, "k"), "$b", KeyInSlot(1, "k"), "$c", KeyInSlot(16383, "k"))
	all := map[string][]step{
		"no password": {
			{"CLUSTER SLOTS", "NOAUTH"}, {"CLUSTER NODES", "NOAUTH"}, {"CLUSTER MYID", "NOAUTH"}, {"READONLY", "NOAUTH"}, {"ASKING", "NOAUTH"},
			{"GET $c", "NOAUTH"}, {"DEL $a $b", "NOAUTH"}, {"SELECT 1", "NOAUTH"}, {"SWAPDB 0 1", "NOAUTH"}, {"HELLO 3", "NOAUTH"},
			{"MULTI", "NOAUTH"}, {"AUTH no", "WRONGPASS"}, {"GET $c", "NOAUTH"}, {"AUTH pw", "OK"}, {"GET $c", "MOVED 16383"},
		},
		"a password in HELLO": {{"HELLO 2 AUTH default pw", "["}, {"GET $c", "MOVED 16383"}},
		"a transaction in two slots": {
			{"AUTH pw", "OK"}, {"MULTI", "OK"}, {"SET $a 1", "QUEUED"}, {"SET $b 1", "QUEUED"}, {"EXEC", "CROSSSLOT"},
			{"EXISTS $a", "0"}, {"EXEC", "EXEC without MULTI"},
			{"MULTI", "OK"}, {"SET $a 1", "QUEUED"}, {"SET $c 1", "MOVED"}, {"EXEC", "EXECABORT"}, {"EXISTS $a", "0"},
			{"MULTI", "OK"}, {"SET $a 1", "QUEUED"}, {"DISCARD", "OK"},
			{"MULTI", "OK"}, {"SET $b 1", "QUEUED"}, {"DEL $b", "QUEUED"}, {"EXEC", "[OK 1]"},
		},
		"databases": {
			{"AUTH pw", "OK"}, {"SELECT 0", "OK"}, {"SELECT 1", "ERR SELECT is not allowed in cluster mode"},
			{"SELECT x", "ERR value is not an integer"}, {"SELECT -1", "ERR SELECT is not allowed"},
			{"SWAPDB 0 1", "ERR SWAPDB is not allowed in cluster mode"}, {"SWAPDB 0", "ERR wrong number of arguments"},
			{"MOVE $a 1", "ERR MOVE is not allowed in cluster mode"}, {"MOVE $c 1", "MOVED 16383"},
			{"EVAL return(redis.call('SELECT',1)) 0", "SELECT is not allowed in cluster mode"},
		},
		"keys of scripts": {
			{"AUTH pw", "OK"}, {"EVAL return(redis.call('EXISTS',KEYS[1])) 1 $a", "0"},
			{"EVAL return(redis.call('GET',ARGV[1])) 1 $a $b", "[]"},
			{"EVAL return(redis.call('GET',ARGV[1])) 1 $a $c", nonLocal},
			{"EVAL return(redis.call('GET',ARGV[1])) 0 $c", nonLocal},
			{"EVAL return(redis.call('DEL',KEYS[1],ARGV[1])) 1 $a $b", "attempted to access"}, // Redis 8 has another text
		},
	}
	for _, steps := range all {
		for i := range steps {
			steps[i].command = names.Replace(steps[i].command)
		}
	}
	return all
}

func play(t *testing.T, conn radix.Conn, steps []step) {
	ctx := within(t, 10*time.Second)
	for _, s := range steps {
		words := strings.Split(s.command, " ")
		var reply any
		got := ""
		if err := conn.Do(ctx, radix.Cmd(&reply, words[0], words[1:]...)); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(reply)
		}
		require.Contains(t, got, s.want, s.command)
	}
}

// TestEmulatedRefusesWhatAClusterRefuses plays the same sessions on the emulated cluster and on a
// real one.
func TestEmulatedRefusesWhatAClusterRefuses(t *testing.T) {
	e := StartEmulated(t, 2)
	for _, m := range e.Nodes() {
		m.RequireAuth("pw")
	}
	for name, steps := range rules() {
		t.Run("emulated/"+name, func(t *testing.T) { play(t, dial(t, e.Addrs()[0]), steps) })
	}
	t.Run("real", func(t *testing.T) {
		real := servers.StartCluster(t, servers.Options{Primaries: 2, Password: "pw"})
		if real.IsValkey() || real.Major() < 7 {
			t.Skip("other texts than those of Redis 7")
		}
		for name, steps := range rules() {
			t.Run(name, func(t *testing.T) { play(t, dial(t, real.Addrs()[0]), steps) })
		}
	})
}
