package engine

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/redislanes/redislanes/internal/resp"
)

// A slotRange is a row of CLUSTER SLOTS: the slots first to last and the nodes
// that serve them, nodes[0] being the primary. A range without a node has no
// owner, or none whose address is known.
type slotRange struct {
	first, last uint16
	nodes       []nodeAddr
}

// A nodeAddr is the address, host:port, and the ID of a node. Servers before
// Redis 4 send no ID.
type nodeAddr struct {
	addr    string
	id      string
	dialled bool // the server did not tell the host: it is the one that was asked
}

// Bounds of what parseSlots accepts. A cluster has at most 1,000 nodes by the
// advice of the specification, and replies are four arrays deep.
const (
	maxRangeNodes = 1024
	maxReplyDepth = 8
	maxHostLength = 255
)

// parseSlots reads a complete RESP2 or RESP3 reply to CLUSTER SLOTS, whose form
// is that of the command's documentation. asked is the host:port of the server
// that replied: its host stands in where a node's endpoint is NULL or empty,
// or is "?" and the metadata has no IP. A node without an endpoint whose port
// is 0 as well is unknown and left out; if it is the primary, its range has no
// nodes.
//
// What it allocates is in proportion to the reply, whatever that claims to
// hold. Errors name the offset in the reply and what was expected there.
func parseSlots(reply []byte, asked string) ([]slotRange, error) {
	if len(reply) > 0 && reply[0] == '-' {
		msg, _, _ := bytes.Cut(reply[1:], crlf)
		return nil, fmt.Errorf("CLUSTER SLOTS: %s", resp.Redact(string(msg)))
	}
	p := slotsParser{replyReader: replyReader{b: reply}, askedHost: hostOf(asked)}
	n, err := p.array("an array of slot ranges", 0, SlotCount)
	if err != nil {
		return nil, err
	}
	ranges := make([]slotRange, 0, n)
	for range n {
		r, err := p.slotRange()
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
	}
	if p.off != len(p.b) {
		return nil, p.fail(p.off, "the end of the reply")
	}
	return ranges, nil
}

type slotsParser struct {
	replyReader
	askedHost string
}

func (p *slotsParser) slotRange() (slotRange, error) {
	var r slotRange
	n, err := p.array("a slot range of first, last and nodes", 2, 2+maxRangeNodes)
	if err != nil {
		return r, err
	}
	first, err := p.integer("the first slot of a range", 0, SlotCount-1)
	if err != nil {
		return r, err
	}
	last, err := p.integer("the last slot of a range", first, SlotCount-1)
	if err != nil {
		return r, err
	}
	r.first, r.last = uint16(first), uint16(last)
	ownerless := false
	for i := range n - 2 {
		node, known, err := p.node()
		if err != nil {
			return r, err
		}
		if i == 0 && !known {
			ownerless = true // a replica must not be taken for the primary
		}
		if known && !ownerless {
			r.nodes = append(r.nodes, node)
		}
	}
	return r, nil
}

// node reads [endpoint, port, id, metadata, ...]. known is false for a node
// that has no address.
func (p *slotsParser) node() (node nodeAddr, known bool, err error) {
	n, err := p.array("a node of endpoint, port and ID", 2, 64)
	if err != nil {
		return node, false, err
	}
	at := p.off
	host, err := p.text("an endpoint")
	if err != nil {
		return node, false, err
	}
	if len(host) > 0 && !validHost(host) {
		return node, false, p.fail(at, "an endpoint of printable characters")
	}
	nameless := len(host) == 0 || string(host) == "?"
	minPort := 1
	if nameless {
		minPort = 0
	}
	port, err := p.integer("a port", minPort, 65535)
	if err != nil {
		return node, false, err
	}
	var id, ip []byte
	if n > 2 {
		if id, err = p.text("a node ID"); err != nil {
			return node, false, err
		}
	}
	if n > 3 {
		if ip, err = p.metadataIP(); err != nil {
			return node, false, err
		}
	}
	for range n - 4 {
		if err := p.skip(maxReplyDepth - 3); err != nil {
			return node, false, err
		}
	}
	// NULL asks for the host that was asked even though the metadata has an
	// IP, since that may be hidden behind a load balancer.
	if string(host) == "?" && validHost(ip) {
		host = ip
	}
	node = nodeAddr{id: string(id)}
	node.addr, node.dialled = joinAddr(host, port, p.askedHost)
	return node, port != 0, nil
}

// metadataIP reads the metadata of a node, a map or a flat array of names and
// values, and returns the value of "ip" if there is one.
func (p *slotsParser) metadataIP() (ip []byte, err error) {
	if p.off < len(p.b) && p.b[p.off] != '*' && p.b[p.off] != '%' {
		return nil, p.skip(maxReplyDepth - 3)
	}
	n, err := p.elements("metadata")
	if err != nil {
		return nil, err
	}
	var isIP bool
	for i := range n {
		if p.off < len(p.b) && p.b[p.off] != '$' && p.b[p.off] != '+' {
			if err := p.skip(maxReplyDepth - 4); err != nil {
				return nil, err
			}
			isIP = false
			continue
		}
		s, err := p.text("a name or value of metadata")
		if err != nil {
			return nil, err
		}
		if isIP {
			ip = s
		}
		isIP = i%2 == 0 && string(s) == "ip"
	}
	return ip, nil
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

// validHost refuses what can be neither a name nor an IP address.
func validHost(host []byte) bool {
	if len(host) == 0 || len(host) > maxHostLength {
		return false
	}
	for _, c := range host {
		if c <= ' ' || c >= 0x7f || c == '[' || c == ']' {
			return false
		}
	}
	return true
}

var crlf = []byte("\r\n")

// A replyReader walks through a complete RESP frame that is not trusted.
type replyReader struct {
	b   []byte
	off int
}

// fail describes what is wrong at an offset.
func (r *replyReader) fail(at int, want string) error {
	got := "the end"
	if at < len(r.b) {
		got = strconv.QuoteToASCII(string(r.b[at:min(at+12, len(r.b))]))
	}
	return fmt.Errorf("CLUSTER SLOTS reply, byte %d: want %s, got %s", at, want, got)
}

// line reads the first line of a value: its type and the text after it.
func (r *replyReader) line(want string) (kind byte, text []byte, err error) {
	if r.off >= len(r.b) {
		return 0, nil, r.fail(r.off, want)
	}
	n := bytes.Index(r.b[r.off:], crlf)
	if n < 1 {
		return 0, nil, r.fail(r.off, want)
	}
	text = r.b[r.off+1 : r.off+n]
	kind = r.b[r.off]
	r.off += n + 2
	return kind, text, nil
}

// array reads the header of an array with min to max elements.
func (r *replyReader) array(want string, min, max int) (int, error) {
	at := r.off
	if at >= len(r.b) || r.b[at] != '*' {
		return 0, r.fail(at, want)
	}
	n, err := r.elements(want)
	if err == nil && (n < min || n > max) {
		err = r.fail(at, want)
	}
	return n, err
}

// elements reads the header of an array or a map and returns how many values
// follow: no more than there are bytes for.
func (r *replyReader) elements(want string) (int, error) {
	at := r.off
	kind, text, err := r.line(want)
	if err != nil {
		return 0, err
	}
	n, err := atoi(text)
	if kind == '%' {
		n *= 2
	}
	if err != nil || n < 0 || n > (len(r.b)-r.off)/len("_\r\n") {
		return 0, r.fail(at, want)
	}
	return n, nil
}

// integer reads a number between min and max.
func (r *replyReader) integer(want string, min, max int) (int, error) {
	at := r.off
	kind, text, err := r.line(want)
	if err != nil {
		return 0, err
	}
	n, err := atoi(text)
	if kind != ':' || err != nil || n < min || n > max {
		return 0, r.fail(at, fmt.Sprintf("%s from %d to %d", want, min, max))
	}
	return n, nil
}

// text reads a bulk or simple string; of a null it returns nil.
func (r *replyReader) text(want string) ([]byte, error) {
	at := r.off
	kind, text, err := r.line(want)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '+':
		return text, nil
	case '_':
		if len(text) == 0 {
			return nil, nil
		}
	case '$':
		if string(text) == "-1" {
			return nil, nil
		}
		if n, err := atoi(text); err == nil && n >= 0 {
			return r.bulk(at, n, want)
		}
	}
	return nil, r.fail(at, want)
}

// bulk reads n bytes and the line end after them.
func (r *replyReader) bulk(at, n int, want string) ([]byte, error) {
	if n > len(r.b)-r.off-len(crlf) || string(r.b[r.off+n:r.off+n+2]) != "\r\n" {
		return nil, r.fail(at, want)
	}
	s := r.b[r.off : r.off+n]
	r.off += n + 2
	return s, nil
}

// skip passes over any value that is nested at most depth deep.
func (r *replyReader) skip(depth int) error {
	const want = "a value"
	if r.off >= len(r.b) || depth <= 0 {
		return r.fail(r.off, "a value nested less deep")
	}
	switch r.b[r.off] {
	case '$', '+', '_':
		_, err := r.text(want)
		return err
	case ':', ',', '#', '(':
		_, _, err := r.line(want)
		return err
	case '*', '~', '%':
		n, err := r.elements(want)
		for i := 0; i < n && err == nil; i++ {
			err = r.skip(depth - 1)
		}
		return err
	}
	return r.fail(r.off, want)
}

var errNumber = errors.New("not a number of up to nine digits")

// atoi parses what RESP headers and ports may hold: no sign but '-', no more
// digits than an int32 can hold.
func atoi(b []byte) (int, error) {
	digits, sign := b, 1
	if len(b) > 0 && b[0] == '-' {
		digits, sign = b[1:], -1
	}
	if len(digits) == 0 || len(digits) > 9 {
		return 0, errNumber
	}
	n := 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errNumber
		}
		n = n*10 + int(c-'0')
	}
	return sign * n, nil
}
