package slots

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// A NodesReply is what a server replied to CLUSTER NODES, as far as it is needed
// to judge its map of the slots.
type NodesReply struct {
	Epochs map[string]uint64 // the config epoch by ID; replicas have that of their primary
	Skips  []Skip            // lines that do not parse
}

var errNodes = errors.New("CLUSTER NODES reply")

// ParseNodes reads a complete RESP2 or RESP3 reply to CLUSTER NODES. A line is
//
//	<id> <ip:port@cport,hostname> <flags> <primary> <ping> <pong> <config epoch> <link> <slots>...
//
// (documentation of the command). A line that does not parse is skipped.
func ParseNodes(reply []byte) (NodesReply, error) {
	rest, ok := Text(reply)
	if !ok || rest == nil {
		return NodesReply{}, fmt.Errorf("%w: want a string", errNodes)
	}
	told := NodesReply{Epochs: make(map[string]uint64)}
	for number := 1; len(rest) > 0; number++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		fields := bytes.Fields(line[:min(len(line), maxNodeLine)])
		const id, epoch, needed = 0, 6, 8
		if len(fields) == 0 {
			continue
		}
		if number > maxNodes {
			return NodesReply{}, fmt.Errorf("%w: want at most %d lines", errNodes, maxNodes)
		}
		n, err := uint64(0), errNodes
		if len(fields) >= needed {
			n, err = strconv.ParseUint(string(fields[epoch]), 10, 64)
		}
		if err != nil {
			told.Skips = append(told.Skips, Skip{Node: Printable(string(fields[id])), Reason: oddLine})
			continue
		}
		told.Epochs[string(fields[id])] = n
	}
	return told, nil
}
