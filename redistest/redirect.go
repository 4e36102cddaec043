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
func (e *Emulated) redirect(node int, asked bool, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	slot, one := slotOf(keys)
	if !one {
		return "CROSSSLOT Keys in request don't hash to the same slot"
	}
	missing, several := 0, false
	for _, key := range keys {
		several = several || key != keys[0]
		if !e.nodes[node].Exists(key) {
			missing++
		}
	}
	owner, target := e.slots.place(slot)
	migrating := owner != target
	switch {
	case owner == node && migrating && missing == len(keys):
		return fmt.Sprintf("ASK %d %s", slot, e.addrs[target])
	case owner == node && migrating && missing > 0, migrating && target == node && asked && missing > 0 && several:
		return "TRYAGAIN Multiple keys request during rehashing of slot"
	case owner == node, target == node && asked:
		return ""
	}
	return fmt.Sprintf("MOVED %d %s", slot, e.addrs[owner])
}

// refusalInScript returns the error for a script's command. The script holds miniredis' lock, so
// that only the table of slots may be asked, and not which keys are there.
func (e *Emulated) refusalInScript(node int, cmd string, args, keys []string) string {
	if len(keys) > 0 {
		slot, one := slotOf(keys)
		owner, target := e.slots.place(slot)
		if !one || owner != node && target != node {
			return "ERR Script attempted to access a non local key in a cluster node"
		}
	}
	return otherDatabase(cmd, args)
}
