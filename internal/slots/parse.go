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
	Epoch       uint64 // config epoch of the claim; 0: the server does not tell
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

// ParseSlots reads the reply to CLUSTER SLOTS, in the form of the command's documentation. asked
// is the host:port of the server that replied, or the path of its unix socket. Its host, or the
// path, is used where a node's endpoint is NULL or empty, or is "?" and the metadata has no IP.
//
// A row that cannot be used, a range of slots or a node, is skipped and reported; the others
// are used. If the node is the primary, its range has no nodes. Only a reply that is no array is
// an error. ParseSlots allocates in proportion to the reply, whatever sizes that claims.
func ParseSlots(reply []byte, asked string) ([]Range, []Skip, error) {
	rows, ok := resp.Array(reply)
	if !ok || len(rows) > Count {
		return nil, nil, fmt.Errorf("CLUSTER SLOTS reply: want an array of slot ranges, got %s", shown(reply))
	}
	p := slotsParser{asked: asked}
	ranges := make([]Range, 0, len(rows))
	for _, row := range rows {
		if r, ok := p.slotRange(row); ok {
			ranges = append(ranges, r)
		}
	}
	return ranges, p.skips, nil
}

type slotsParser struct {
	asked string
	skips []Skip
}

// slotRange reads [first, last, node...]. It reports whether the range can be used.
func (p *slotsParser) slotRange(row []byte) (r Range, ok bool) {
	cells, ok := resp.Array(row)
	if !ok || len(cells) < 2 || len(cells) > 2+maxServers {
		return p.skipRange("a slot range of first, last and nodes", row)
	}
	first, ok := integer(cells[0], 0, Count-1)
	if !ok {
		return p.skipRange("the first slot of a range", cells[0])
	}
	last, ok := integer(cells[1], first, Count-1)
	if !ok {
		return p.skipRange("the last slot of a range", cells[1])
	}
	r.First, r.Last = uint16(first), uint16(last)
	for i, cell := range cells[2:] {
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

func (p *slotsParser) skipRange(want string, got []byte) (Range, bool) {
	p.skips = append(p.skips, Skip{Node: "a range of slots", Reason: unreadable(want, got)})
	return Range{}, false
}

// node reads [endpoint, port, id, metadata, ...], or says why the node is skipped.
func (p *slotsParser) node(row []byte) (node NodeAddr, missing Skip) {
	cells, ok := resp.Array(row)
	if !ok || len(cells) < 2 || len(cells) > maxFields {
		return node, Skip{Node: nodeName(nil, 0, nil), Reason: unreadable("a node of endpoint, port and ID", row)}
	}
	var id []byte
	var told metadata
	host, ok := Text(cells[0])
	if !ok {
		return node, Skip{Node: nodeName(nil, 0, nil), Reason: unreadable("an endpoint", cells[0])}
	}
	port, ok := integer(cells[1], 0, 65535)
	if !ok {
		return node, Skip{Node: nodeName(host, 0, nil), Reason: unreadable("a port from 0 to 65535", cells[1])}
	}
	if len(cells) > 2 {
		if id, ok = Text(cells[2]); !ok {
			return node, Skip{Node: nodeName(host, port, nil), Reason: unreadable("a node ID", cells[2])}
		}
	}
	if len(cells) > 3 {
		told = metadataOf(cells[3])
	}
	name := nodeName(host, port, id)
	nameless := len(host) == 0 || string(host) == "?"
	// NULL asks for the host that was asked even though the metadata has an
	// IP, since that may be hidden behind a load balancer.
	if ip, ok := UsableHost(told.ip); string(host) == "?" && ok {
		host, nameless = ip, false
	}
	if !nameless {
		if host, ok = UsableHost(host); !ok {
			return node, Skip{Node: name, Reason: unusableHost}
		}
	}
	if port == 0 {
		return node, Skip{Node: name, Reason: portZero}
	}
	node = NodeAddr{ID: string(id), Zone: string(told.zone)}
	node.Addr, node.Dialled = joinAddr(host, port, p.asked)
	return node, Skip{}
}

// metadata is the part of a node's metadata that is used.
type metadata struct{ ip, zone []byte }

// metadataOf reads the metadata of a node: a map, or a flat array of names and values, or NULL.
func metadataOf(cell []byte) (told metadata) {
	list, _ := resp.Array(cell)
	for i := 0; i+1 < len(list); i += 2 {
		name, _ := Text(list[i])
		value, _ := Text(list[i+1])
		switch string(name) {
		case "ip":
			told.ip = value
		case "availability-zone":
			told.zone = value
		}
	}
	return told
}

// Text returns a bulk, simple or verbatim string; of a null it returns nil.
func Text(value []byte) (s []byte, ok bool) {
	switch {
	case resp.IsNull(value):
		return nil, true
	case len(value) == 0 || !strings.ContainsRune("$+=", rune(value[0])):
		return nil, false
	}
	s, err := resp.Bytes(value)
	return s, err == nil
}

// integer returns a number between least and most.
func integer(value []byte, least, most int) (int, bool) {
	n, err := resp.Int(value)
	return int(n), err == nil && value[0] == ':' && int64(least) <= n && n <= int64(most)
}

// joinAddr returns host:port, with brackets around an IPv6 address. If no host is told, it is that
// of the server that was asked.
func joinAddr(host []byte, port int, asked string) (addr string, dialled bool) {
	h := string(host)
	if dialled = h == "" || h == "?"; dialled {
		return sameHost(asked, port), true
	}
	return net.JoinHostPort(h, strconv.Itoa(port)), false
}

// sameHost returns the address of the port at the host of the server that was asked. A unix socket
// has no host: there it is the socket.
func sameHost(asked string, port int) string {
	if isPath(asked) {
		return asked
	}
	return net.JoinHostPort(hostOf(asked), strconv.Itoa(port))
}

// isPath tells whether the address is the path of a unix socket.
func isPath(addr string) bool { return strings.HasPrefix(addr, "/") }

// hostOf returns the host of host:port.
func hostOf(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	return host
}

// UsableHost returns the host without the brackets of an IPv6 address, and whether it
// may be a name or an IP address. Names may be in any script: a resolver of the
// user's (Dialer.NetDial, AddrMap) may know them.
func UsableHost(host []byte) ([]byte, bool) {
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	odd := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("[]/@?#", r)
	}
	ok := len(host) > 0 && len(host) <= maxHostLength && utf8.Valid(host) && !bytes.ContainsFunc(host, odd)
	return host, ok
}
