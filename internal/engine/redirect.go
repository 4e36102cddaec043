package engine

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/wire"
)

// A verdict is what an error reply means for the command that got it. Every
// verdict but final says that the server did not run the command. What becomes
// of a command is decided by the texts of errors here and, for what Counters
// send, in pipeline/said.go; internal/wire/refusal.go judges refused handshakes.
type verdict uint8

const (
	final      verdict = iota // the reply stands
	moved                     // MOVED: the slot has another owner
	ask                       // ASK: the key may be on the node that imports the slot
	tryAgain                  // TRYAGAIN: some of the keys are still on their way
	down                      // CLUSTERDOWN, LOADING, MASTERDOWN: not now
	unserved                  // CLUSTERDOWN for this slot only; MOVED or ASK to a node without an address
	readOnly                  // READONLY: a write came to a replica
	noReplicas                // NOREPLICAS: too few replicas for a write
	noScript                  // NOSCRIPT: the script has to be sent along
	unnamed                   // MOVED or ASK to a node whose address the server does not know: host "?" or port 0
	stale                     // MOVED or ASK to where the reply came from: see redirect.from
)

// A redirect is a verdict; slot and addr (host:port) are those of MOVED and
// ASK, dialled says that the host is that of the server which replied. An unnamed
// one has no addr.
type redirect struct {
	verdict verdict
	slot    uint16
	addr    string
	dialled bool
}

// from returns the verdict on a redirect that came from an address and, by AddrMap, leads
// to place. If these are the same, the server at the other end of the connection is not
// the one that its address leads to now: names outlive servers. The connection is stale,
// and the command did not run.
func (r redirect) from(addr, place string) verdict {
	if place == addr {
		return stale
	}
	return r.verdict
}

// maxErrorText is how much of an error reply is judged.
const maxErrorText = resp.MaxRedacted

// classify judges the text of an error reply, without the leading '-' and the
// line end. asked is the host:port of the server that replied; its host stands
// in where it is empty in MOVED or ASK (Redis Cluster specification, "MOVED
// redirection"). A MOVED or ASK that is malformed is final, so that the caller
// sees what the server wrote. It allocates for MOVED and ASK only.
func classify(msg []byte, asked string) redirect {
	msg = msg[:min(len(msg), maxErrorText)]
	code, rest, _ := bytes.Cut(msg, space)
	v := final
	switch string(code) {
	case "MOVED":
		return classifyAddr(moved, rest, asked)
	case "ASK":
		return classifyAddr(ask, rest, asked)
	case "TRYAGAIN":
		v = tryAgain
	case "CLUSTERDOWN", "LOADING", "MASTERDOWN":
		v = down
		if string(rest) == "Hash slot not served" {
			v = unserved
		}
	case "READONLY":
		v = readOnly
	case "NOREPLICAS":
		v = noReplicas
	case "NOSCRIPT":
		v = noScript
	}
	if v != final && fromScript(rest) {
		v = final
	}
	return redirect{verdict: v}
}

var (
	space       = []byte(" ")
	scriptName  = []byte(" script: ")
	scriptPlace = []byte(", on ")
)

// fromScript tells whether a command inside a script got the error: the parts
// of the script before it have run. Servers since Redis 7 append
// " script: <sha1>, on @user_script:<line>.".
func fromScript(text []byte) bool {
	_, after, found := bytes.Cut(text, scriptName)
	return found && bytes.Contains(after, scriptPlace)
}

var (
	readOnlyCode = []byte("READONLY ")
	scriptError  = []byte("ERR Error running script ")
	wrapped      = []byte(" -READONLY ")
)

// saysReadOnly tells whether the error says that the server is a replica, also that of a
// command inside a script, which stands. Servers before Redis 7 wrap it: "ERR Error running
// script (call to f_<sha1>): @user_script:1: @user_script: 1: -READONLY You can't write".
func saysReadOnly(text []byte) bool {
	text = text[:min(len(text), maxErrorText)]
	return bytes.HasPrefix(text, readOnlyCode) || bytes.HasPrefix(text, scriptError) && bytes.Contains(text, wrapped)
}

// classifyAddr parses "slot host:port". The host may be an IPv6 address without
// brackets. A node without an address, whose host is "?" or whose port is 0, cannot be
// followed: the command goes again by a new map.
func classifyAddr(v verdict, text []byte, asked string) redirect {
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
		return redirect{verdict: unnamed, slot: uint16(slot)} // the map may know the node's address
	}
	if host, usable = usableHost(host); !usable && len(host) > 0 {
		return redirect{}
	}
	to := redirect{verdict: v, slot: uint16(slot)}
	to.addr, to.dialled = joinAddr(host, port, hostOf(asked))
	return to
}

// passing tells whether a server that refused the handshake may accept it soon.
func passing(e *redislanes.HandshakeError) bool {
	if errors.Is(e, wire.ErrCredentials) {
		return true
	}
	text, err := strconv.Unquote(e.Reply)
	if err != nil {
		return false
	}
	return text == resp.TooManyClients || classify([]byte(text), "").verdict == down
}

// clusterDisabled tells whether the error reply to a CLUSTER command means that
// the server is not part of a cluster.
func clusterDisabled(msg []byte) bool {
	return string(msg) == "ERR This instance has cluster support disabled"
}

// advice is what a user can do about a refusal of CLUSTER SLOTS.
type advice uint8

const (
	noAdvice advice = iota
	needsPassword
	needsPermission
	needsCluster // the server does not know CLUSTER
)

func adviceFor(msg []byte) advice {
	switch code, rest, _ := bytes.Cut(msg, space); {
	case string(code) == "NOAUTH":
		return needsPassword
	case string(code) == "NOPERM":
		return needsPermission
	case string(code) == "ERR" && bytes.HasPrefix(rest, []byte("unknown command")):
		return needsCluster
	}
	return noAdvice
}
