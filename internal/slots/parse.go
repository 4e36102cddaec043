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
	Near    bool   // it is near by Config.Near
	Dialled bool   // the server did not tell the host: it is the one that was asked
}

// A Skip is a range of slots that has no owner because its primary has no address that can be dialled.
type Skip struct {
	First, Last uint16
	Why         string
}

// ParseSlots reads the reply to CLUSTER SLOTS, in the form of the command's documentation. asked
// is the host:port of the server that replied, or the path of its unix socket. Its host, or the
// path, is used where a node's endpoint is NULL or empty, or is "?" and the metadata has no IP.
//
// A replica without an address that can be dialled is left out. If a primary has none, its range has
// no nodes. ParseSlots allocates in proportion to the reply, whatever sizes that claims.
func ParseSlots(reply []byte, asked string) (ranges []Range, skips []Skip, err error) {
	rows, ok := resp.Array(reply)
	if !ok || len(rows) > Count {
		return nil, nil, unreadable("an array of slot ranges", reply)
	}
	ranges = make([]Range, len(rows))
	for i, row := range rows {
		why, err := ranges[i].parse(row, asked)
		if err != nil {
			return nil, nil, err
		}
		if why != "" {
			skips = append(skips, Skip{ranges[i].First, ranges[i].Last, why})
		}
	}
	return ranges, skips, nil
}

func unreadable(want string, got []byte) error {
	return fmt.Errorf("CLUSTER SLOTS reply: want %s, got %s", want, strconv.QuoteToASCII(string(got[:min(len(got), maxShown)])))
}

// parse reads [first, last, node...]. why says why the primary is left out.
func (r *Range) parse(row []byte, asked string) (why string, err error) {
	cells, ok := resp.Array(row)
	if !ok || len(cells) < 2 || len(cells) > 2+maxServers {
		return "", unreadable("a slot range of first, last and nodes", row)
	}
	first, ok := integer(cells[0], 0, Count-1)
	last, ordered := integer(cells[1], first, Count-1)
	if !ok || !ordered {
		return "", unreadable("a slot range of first, last and nodes", row)
	}
	r.First, r.Last = uint16(first), uint16(last)
	for i, cell := range cells[2:] {
		node, why, err := parseNode(cell, asked)
		switch {
		case err != nil:
			return "", err
		case why == "":
			r.Nodes = append(r.Nodes, node)
		case i == 0:
			return why, nil // a replica must not be taken for the primary
		}
	}
	return "", nil
}

// parseNode reads [endpoint, port, id, metadata, ...]. why says why the node's address cannot be dialled.
func parseNode(row []byte, asked string) (node NodeAddr, why string, err error) {
	cells, ok := resp.Array(row)
	if !ok || len(cells) < 2 || len(cells) > maxFields {
		return node, "", unreadable("a node of endpoint, port and ID", row)
	}
	host, named := Text(cells[0])
	port, numbered := integer(cells[1], 0, 65535)
	var id []byte
	known := true
	if len(cells) > 2 {
		id, known = Text(cells[2])
	}
	if !named || !numbered || !known {
		return node, "", unreadable("a node of endpoint, port and ID", row)
	}
	var told metadata
	if len(cells) > 3 {
		told = metadataOf(cells[3])
	}
	name := Printable(fmt.Sprintf("%s (ID %s)", net.JoinHostPort(string(host), strconv.Itoa(port)), id))
	nameless := len(host) == 0 || string(host) == "?"
	// NULL asks for the host that was asked even though the metadata has an
	// IP, since that may be hidden behind a load balancer.
	if ip, ok := UsableHost(told.ip); string(host) == "?" && ok {
		host, nameless = ip, false
	}
	if !nameless {
		if host, ok = UsableHost(host); !ok {
			return node, name + ": its host is neither a name nor an IP address", nil
		}
	}
	if port == 0 {
		return node, name + ": its port is 0: it speaks TLS only, set Config.Dialer.TLS (with TLS: it speaks plain TCP only)", nil
	}
	node = NodeAddr{ID: string(id), Zone: string(told.zone)}
	node.Addr, node.Dialled = joinAddr(host, port, asked)
	return node, "", nil
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

// Printable returns what a server wrote for logs and errors.
func Printable(s string) string {
	q := strconv.QuoteToGraphic(s[:min(len(s), maxPrinted)])
	return q[1 : len(q)-1]
}

// ParseNodes reads the config epochs in a RESP2 or RESP3 reply to CLUSTER NODES, by node ID. Replicas have that
// of their primary. A line is
//
//	<id> <ip:port@cport,hostname> <flags> <primary> <ping> <pong> <config epoch> <link> <slots>...
//
// (documentation of the command). A line that does not parse is skipped.
func ParseNodes(reply []byte) map[string]uint64 {
	text, _ := Text(reply)
	epochs := make(map[string]uint64)
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line[:min(len(line), maxNodeLine)])
		const id, epoch, needed = 0, 6, 8
		if len(fields) < needed {
			continue
		}
		n, err := strconv.ParseUint(string(fields[epoch]), 10, 64)
		if err == nil && len(epochs) < maxNodes {
			epochs[string(fields[id])] = n
		}
	}
	return epochs
}

// The limits of what a server may tell of its cluster.
const (
	// maxServers bounds the nodes of one range of slots. A cluster has at most 1,000 nodes by the advice
	// of the specification.
	maxServers = 1024

	// maxNodes bounds how many nodes ParseNodes reads: as many as there are slots for primaries.
	maxNodes = 16 << 10

	// maxFields bounds the fields of a node in CLUSTER SLOTS, which has four.
	maxFields = 128
)

// Sizes, in bytes.
const (
	// maxHostLength bounds the name of a host; the DNS has none that is longer.
	maxHostLength = 255

	// maxNodeLine is how much of a line of CLUSTER NODES is read. The fields that count come
	// first; slots may follow, thousands of them.
	maxNodeLine = 1024

	// maxPrinted is how much of a server's text goes to logs and errors: enough for an address
	// with an ID.
	maxPrinted = 100

	// maxShown is how much of a malformed reply goes to errors.
	maxShown = 12
)
