package slots

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redislanes/redislanes/internal/resp"
)

// A Range is a row of CLUSTER SLOTS: the slots First to Last and the nodes
// that serve them. Nodes[0] is the primary. A range without a node has no owner, or its
// owner's address is unknown.
type Range struct {
	First, Last uint16
	Nodes       []NodeAddr
}

// A NodeAddr is the address, host:port, and the ID of a node. Servers before
// Redis 4 send no ID.
type NodeAddr struct {
	Addr    string
	ID      string
	Zone    string // its availability zone, as servers tell it; "" if they do not
	Near    bool   // that, or the one of Config.ZoneOf, is the client's
	Dialled bool   // the server did not tell the host: it is the one that was asked
}

// ParseSlots reads a complete RESP2 or RESP3 reply to CLUSTER SLOTS, in the form of the
// command's documentation. asked is the host:port of the server that replied. Its host is used
// where a node's endpoint is NULL or empty, or is "?" and the metadata has no IP.
//
// A row that cannot be used, a range of slots or a node, is skipped and reported; the others
// are used. If the node is the primary, its range has no nodes. A reply that is no RESP is an
// error with the offset in the reply and what was expected there. ParseSlots allocates in
// proportion to the reply, whatever sizes that claims.
func ParseSlots(reply []byte, asked string) ([]Range, []Skip, error) {
	if len(reply) > 0 && reply[0] == '-' {
		msg, _, _ := bytes.Cut(reply[1:], crlf)
		return nil, nil, fmt.Errorf("CLUSTER SLOTS: %s", resp.Redact(string(msg)))
	}
	p := slotsParser{replyReader: replyReader{b: reply}, askedHost: hostOf(asked)}
	n, err := p.array("an array of slot ranges", 0, Count)
	if err != nil {
		return nil, nil, err
	}
	ranges := make([]Range, 0, n)
	for range n {
		row, err := p.cut(maxReplyDepth - 1)
		if err != nil {
			return nil, nil, err
		}
		if r, ok := p.slotRange(row); ok {
			ranges = append(ranges, r)
		}
	}
	if p.off != len(p.b) {
		return nil, nil, p.fail(p.off, "the end of the reply")
	}
	return ranges, p.skips, nil
}

type slotsParser struct {
	replyReader
	askedHost string
	skips     []Skip
}

// slotRange reads [first, last, node...]. It reports whether the range can be used.
func (p *slotsParser) slotRange(row replyReader) (r Range, ok bool) {
	first, last, n := 0, 0, 0
	var err error
	if n, err = row.array("a slot range of first, last and nodes", 2, 2+maxServers); err == nil {
		if first, err = row.integer("the first slot of a range", 0, Count-1); err == nil {
			last, err = row.integer("the last slot of a range", first, Count-1)
		}
	}
	if err != nil {
		p.skips = append(p.skips, Skip{Node: "a range of slots", Reason: reasonOf(err)})
		return r, false
	}
	r.First, r.Last = uint16(first), uint16(last)
	for i := range n - 2 {
		cell, err := row.cut(maxReplyDepth - 2)
		if err != nil {
			break // the row was framed before
		}
		node, missing := p.node(cell)
		switch {
		case missing.Reason == "":
			r.Nodes = append(r.Nodes, node)
			continue
		case i == 0:
			missing.First, missing.Last, missing.Primary = r.First, r.Last, true
		}
		if p.skips = append(p.skips, missing); i == 0 {
			break // a replica must not be taken for the primary
		}
	}
	return r, true
}

// node reads [endpoint, port, id, metadata, ...], or says why the node is skipped.
func (p *slotsParser) node(row replyReader) (node NodeAddr, missing Skip) {
	var host, id []byte
	var told metadata
	port := 0
	n, err := row.array("a node of endpoint, port and ID", 2, maxFields)
	if err == nil {
		host, err = row.text("an endpoint")
	}
	if err == nil {
		port, err = row.integer("a port", 0, 65535)
	}
	if err == nil && n > 2 {
		id, err = row.text("a node ID")
	}
	if err == nil && n > 3 {
		told, err = row.metadata()
	}
	name := nodeName(host, port, id)
	nameless := len(host) == 0 || string(host) == "?"
	// NULL asks for the host that was asked even though the metadata has an
	// IP, since that may be hidden behind a load balancer.
	if ip, ok := usableHost(told.ip); string(host) == "?" && ok {
		host, nameless = ip, false
	}
	if !nameless && err == nil {
		var usable bool
		if host, usable = usableHost(host); !usable {
			return node, Skip{Node: name, Reason: unusableHost}
		}
	}
	switch {
	case err != nil:
		return node, Skip{Node: name, Reason: reasonOf(err)}
	case port == 0:
		return node, Skip{Node: name, Reason: portZero}
	}
	node = NodeAddr{ID: string(id), Zone: string(told.zone)}
	node.Addr, node.Dialled = joinAddr(host, port, p.askedHost)
	return node, Skip{}
}

// metadata is what a node's row tells besides, as far as it is used.
type metadata struct{ ip, zone []byte }

// metadata reads the metadata of a node: a map, or a flat array of names and
// values, or NULL.
func (r *replyReader) metadata() (told metadata, err error) {
	if r.off < len(r.b) && r.b[r.off] != '*' && r.b[r.off] != '%' || r.isNullArray() {
		return told, r.skip(maxReplyDepth - 3)
	}
	n, err := r.elements("metadata")
	if err != nil {
		return told, err
	}
	var name []byte
	for i := range n {
		if r.off < len(r.b) && r.b[r.off] != '$' && r.b[r.off] != '+' {
			if err := r.skip(maxReplyDepth - 4); err != nil {
				return told, err
			}
			name = nil
			continue
		}
		s, err := r.text("a name or value of metadata")
		switch {
		case err != nil:
			return told, err
		case i%2 == 0:
			name = s
		case string(name) == "ip":
			told.ip = s
		case string(name) == "availability-zone":
			told.zone = s
		}
	}
	return told, nil
}

// joinAddr returns host:port, with the host that was asked where none is told,
// and brackets around an IPv6 address.
func joinAddr(host []byte, port int, asked string) (addr string, dialled bool) {
	h := string(host)
	if dialled = h == "" || h == "?"; dialled {
		h = asked
	}
	return net.JoinHostPort(h, strconv.Itoa(port)), dialled
}

// hostOf returns the host of host:port.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

// usableHost returns the host without the brackets of an IPv6 address, and whether it
// may be a name or an IP address. Names may be in any script: a resolver of the
// user's (Dialer.NetDial, AddrMap) may know them.
func usableHost(host []byte) ([]byte, bool) {
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("[]/@?#", r)
	}
	ok := len(host) > 0 && len(host) <= maxHostLength && utf8.Valid(host) && !bytes.ContainsFunc(host, odd)
	return host, ok
}

var crlf = []byte("\r\n")
