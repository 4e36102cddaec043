package redistest

import (
	"fmt"

	"github.com/mediocregopher/radix/v4"

	"github.com/redislanes/redislanes/internal/command"
	"github.com/redislanes/redislanes/internal/resp"
)

// commandKeys returns a command's keys.
func commandKeys(cmd string, args []string) (keys []string) {
	for all := command.Of(resp.AppendCommand(nil, cmd, args...)).Keys(); ; {
		key, ok := all.Next()
		if !ok {
			return keys
		}
		keys = append(keys, string(key))
	}
}

// slotOf returns the slot of the keys. It returns false if they are in several.
func slotOf(keys []string) (slot uint16, one bool) {
	slot = radix.ClusterSlot([]byte(keys[0]))
	for _, key := range keys[1:] {
		if radix.ClusterSlot([]byte(key)) != slot {
			return 0, false
		}
	}
	return slot, true
}

// redirect returns the error for a command, or a transaction, that the node does not serve.
func (e *Emulated) redirect(node int, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	slot, one := slotOf(keys)
	if !one {
		return "CROSSSLOT Keys in request don't hash to the same slot"
	}
	if owner := e.Owner(slot); owner != node {
		return fmt.Sprintf("MOVED %d %s", slot, e.addrs[owner])
	}
	return ""
}

// refusalInScript returns the error for a script's command.
func (e *Emulated) refusalInScript(node int, cmd string, args, keys []string) string {
	if len(keys) > 0 {
		if slot, one := slotOf(keys); !one || e.Owner(slot) != node {
			return "ERR Script attempted to access a non local key in a cluster node"
		}
	}
	return otherDatabase(cmd, args)
}
