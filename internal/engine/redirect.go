package engine

import (
	"bytes"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// A redirect is what an error reply means; slot and addr (host:port) are those of MOVED
// and ASK, dialled says that the host is that of the server which replied.
type redirect struct {
	fate    fate.Fate
	slot    uint16
	addr    string
	dialled bool
}

// from returns the fate of a command whose redirect came from an address and, by AddrMap,
// leads to place. If these are the same, the server at the other end of the connection is
// not the one that its address leads to now: names outlive servers. The connection is
// stale, and the command did not run.
func (r redirect) from(addr, place string) fate.Fate {
	if place == addr {
		return fate.Itself
	}
	return r.fate
}

// classify judges the text of an error reply, without the leading '-' and the
// line end. asked is the host:port of the server that replied; its host stands
// in where it is empty in MOVED or ASK (Redis Cluster specification, "MOVED
// redirection"). A MOVED or ASK that is malformed is none that a server sends, so that
// the caller sees what it wrote. It allocates for MOVED and ASK only.
func classify(msg []byte, asked string) redirect {
	f := fate.Of(msg)
	if f != fate.Moved && f != fate.Ask {
		return redirect{fate: f}
	}
	_, rest, _ := bytes.Cut(msg[:min(len(msg), resp.MaxRedacted)], space)
	return classifyAddr(f, rest, asked)
}

var space = []byte(" ")

// classifyAddr parses "slot host:port". The host may be an IPv6 address without
// brackets. A node without an address, whose host is "?" or whose port is 0, cannot be
// followed: the command goes again by a new map.
func classifyAddr(f fate.Fate, text []byte, asked string) redirect {
	slotText, addr, _ := bytes.Cut(text, space)
	slot, err := atoi(slotText)
	if err != nil || slotText[0] == '-' || slot >= SlotCount {
		return redirect{}
	}
	colon := bytes.LastIndexByte(addr, ':')
	if colon < 0 {
		return redirect{}
	}
	host, portText, usable := addr[:colon], addr[colon+1:], false
	port, err := atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return redirect{}
	}
	if port == 0 || string(host) == "?" {
		return redirect{fate: fate.Nowhere, slot: uint16(slot)} // the map may know the node's address
	}
	if host, usable = usableHost(host); !usable && len(host) > 0 {
		return redirect{}
	}
	to := redirect{fate: f, slot: uint16(slot)}
	to.addr, to.dialled = joinAddr(host, port, hostOf(asked))
	return to
}
