package slots

import (
	"bytes"
	"strconv"

	"github.com/redislanes/redislanes/internal/fate"
)

// A Redirect is what an error reply means. Slot and Addr (host:port) are those of MOVED and
// ASK. Dialled says that the reply named no host: Addr has that of the server that replied.
type Redirect struct {
	Fate    fate.Fate
	Slot    uint16
	Addr    string
	Dialled bool
}

// From returns the fate of a command. Its redirect came from addr and leads to place, which
// AddrMap has translated. If the two are the same, the connection is stale: its address leads
// to another server now, since names outlive servers. The command did not run.
func (r Redirect) From(addr, place string) fate.Fate {
	if place == addr {
		return fate.Itself
	}
	return r.Fate
}

// ParseRedirect judges the text of an error reply, without the leading '-' and the
// line end. asked is the host:port of the server that replied; its host is used where MOVED
// or ASK has none (Redis Cluster specification, "MOVED redirection"). A malformed MOVED or ASK
// counts as a text that no server sends, so that the caller sees it. It allocates for MOVED and
// ASK only.
func ParseRedirect(msg []byte, asked string) Redirect {
	f := fate.Of(msg)
	if f != fate.Moved && f != fate.Ask {
		return Redirect{Fate: f}
	}
	_, rest, _ := bytes.Cut(msg[:min(len(msg), fate.MaxText)], space)
	return classifyAddr(f, rest, asked)
}

var space = []byte(" ")

// classifyAddr parses "slot host:port". The host may be an IPv6 address without brackets. If
// the host is "?" or the port is 0, or there is none and the replier has none, since it was asked
// over a unix socket, the node has no address: the command is sent again by a new map.
func classifyAddr(f fate.Fate, text []byte, asked string) Redirect {
	slotText, addr, _ := bytes.Cut(text, space)
	slot, err := strconv.ParseUint(string(slotText), 10, 16)
	if err != nil || slot >= Count {
		return Redirect{}
	}
	colon := bytes.LastIndexByte(addr, ':')
	if colon < 0 {
		return Redirect{}
	}
	host, usable := addr[:colon], false
	port, err := strconv.ParseUint(string(addr[colon+1:]), 10, 16)
	if err != nil {
		return Redirect{}
	}
	if port == 0 || string(host) == "?" || len(host) == 0 && isPath(asked) {
		return Redirect{Fate: fate.Nowhere, Slot: uint16(slot)} // the map may know the node's address
	}
	if host, usable = UsableHost(host); !usable && len(host) > 0 {
		return Redirect{}
	}
	to := Redirect{Fate: f, Slot: uint16(slot)}
	to.Addr, to.Dialled = joinAddr(host, int(port), asked)
	return to
}
