package slots

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/resp"
)

// AdmitPrimary decides by the reply to ROLE whether the server may be sent what
// is for the primary. What it refuses to tell is not held against it.
func AdmitPrimary(_ string, _, role []byte) error {
	r := replyReader{b: role}
	if n, err := r.elements("a role"); err != nil || n == 0 {
		return nil
	}
	if name, err := r.text("a role"); err == nil && string(name) != "master" {
		return fmt.Errorf("%w: its role is %s, not that of the primary", redislanes.ErrNotMember, resp.Redact(string(name)))
	}
	return nil
}

// A SentinelReply is what one Sentinel has told.
type SentinelReply struct {
	Primary   Instance
	Replicas  []Instance
	Sentinels []Instance
	Skips     []Skip
}

// An Instance is a server that a Sentinel watches, or another Sentinel.
type Instance struct {
	Addr  string
	flags []string
	Epoch uint64
}

// gone tells whether the Sentinel has lost the instance. One that will never come
// back is listed until somebody sends SENTINEL RESET.
func (i Instance) gone() bool {
	return slices.ContainsFunc(i.flags, func(f string) bool { return f == "s_down" || f == "o_down" || f == "disconnected" })
}

// Map returns the map: all slots are the primary's.
func (s SentinelReply) Map(asked string) *Map {
	var replicas []string
	for _, r := range s.Replicas {
		if !r.gone() && r.Addr != s.Primary.Addr {
			replicas = append(replicas, r.Addr)
		}
	}
	v := Single(s.Primary.Addr, replicas...)
	v.Claims[0].Epoch = s.Primary.Epoch
	v.Sentinels, v.Skips = []string{asked}, s.Skips
	for _, other := range s.Sentinels {
		if !other.gone() && !slices.Contains(v.Sentinels, other.Addr) {
			v.Sentinels = append(v.Sentinels, other.Addr)
		}
	}
	return v
}

// ErrNoPrimary says that the Sentinel does not know the primary's name.
var ErrNoPrimary = errors.New("it is not known")

// ParsePrimary reads the replies to SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL
// MASTER. Without the second its epoch is unknown.
func ParsePrimary(addr, master []byte) (Instance, error) {
	if resp.IsError(addr) {
		return Instance{}, errors.New(resp.Redact(string(resp.ErrorText(addr))))
	}
	if bytes.HasPrefix(addr, []byte("*-1")) || bytes.HasPrefix(addr, []byte("_")) {
		return Instance{}, ErrNoPrimary
	}
	var primary Instance
	r := replyReader{b: addr}
	if n, err := r.array("an address", 2, 2); err != nil || n != 2 {
		return Instance{}, errSentinelReply
	}
	host, err := r.text("a host")
	if err != nil {
		return Instance{}, errSentinelReply
	}
	port, err := r.text("a port")
	if err != nil || r.off != len(addr) {
		return Instance{}, errSentinelReply
	}
	if primary.Addr, err = instanceAddr(host, port); err != nil {
		return Instance{}, err
	}
	r = replyReader{b: master}
	if told, _, _, err := r.instance(); err == nil {
		primary.Epoch = told.Epoch
	}
	return primary, nil
}

var errSentinelReply = errors.New("the reply to SENTINEL makes no sense")

// ParseInstances reads the reply to SENTINEL REPLICAS or SENTINELS. A row that cannot
// be used is skipped.
func ParseInstances(reply []byte) (list []Instance, skips []Skip, err error) {
	r := replyReader{b: reply}
	n, err := r.array("an array of instances", 0, maxServers)
	if err != nil {
		return nil, nil, errSentinelReply
	}
	for range n {
		row, err := r.cut(maxReplyDepth - 1)
		if err != nil {
			return nil, nil, errSentinelReply
		}
		told, host, port, err := row.instance()
		if err == nil {
			told.Addr, err = instanceAddr(host, port)
		}
		if err != nil {
			name := Printable(net.JoinHostPort(string(host), string(port)))
			skips = append(skips, Skip{Node: name, Reason: "its row in the reply to SENTINEL cannot be used"})
			continue
		}
		list = append(list, told)
	}
	return list, skips, nil
}

// instance reads names and values, in an array or a map. Host and port are part of the
// reply.
func (r *replyReader) instance() (told Instance, host, port []byte, err error) {
	if r.off >= len(r.b) || r.b[r.off] != '*' && r.b[r.off] != '%' {
		return told, host, port, errSentinelReply
	}
	n, err := r.elements("an instance")
	if err != nil || n%2 != 0 || n > 2*maxFields {
		return told, host, port, errSentinelReply
	}
	for range n / 2 {
		name, err := r.text("a name")
		if err != nil {
			return told, host, port, errSentinelReply
		}
		value, err := r.text("a value")
		if err != nil {
			return told, host, port, errSentinelReply
		}
		switch string(name) {
		case "ip":
			host = value
		case "port":
			port = value
		case "flags":
			told.flags = strings.Split(string(value), ",")
		case "config-epoch":
			told.Epoch, _ = strconv.ParseUint(string(value), 10, 64)
		}
	}
	return told, host, port, nil
}

func instanceAddr(host, port []byte) (string, error) {
	n, err := atoi(port)
	host, usable := usableHost(host)
	if err != nil || n < 1 || n > 65535 || !usable {
		return "", fmt.Errorf("%w: %q is no host, or %q no port", errSentinelReply, host, port)
	}
	return net.JoinHostPort(string(host), string(port)), nil
}
