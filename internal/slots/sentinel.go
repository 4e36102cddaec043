package slots

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes"
	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
)

// AdmitPrimary decides by the reply to ROLE whether the server may be sent what
// is for the primary. What it refuses to tell is not held against it.
func AdmitPrimary(_ string, role []byte) error {
	list, _ := resp.Array(role)
	if len(list) == 0 {
		return nil
	}
	if name, ok := text(list[0]); ok && string(name) != "master" {
		return fmt.Errorf("%w: its role is %s, not that of the primary", redislanes.ErrWrongServer, Printable(string(name)))
	}
	return nil
}

// A SentinelReply is what one Sentinel has told.
type SentinelReply struct {
	ID        string // the Sentinel's own; "" if it does not tell
	Primary   Instance
	Replicas  []Instance
	Sentinels []Instance
	Skips     []Skip
}

// An Instance is a server that a Sentinel watches, or another Sentinel.
type Instance struct {
	Addr  string
	id    string // of a Sentinel
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
	if s.ID != "" { // no other Sentinel may tell of it, so without it nothing follows from the IDs
		v.ids[s.ID] = true
	}
	for _, other := range s.Sentinels {
		if s.ID != "" && other.id != "" {
			v.ids[other.id] = true
		}
		if !other.gone() && !slices.Contains(v.Sentinels, other.Addr) {
			v.Sentinels = append(v.Sentinels, other.Addr)
		}
	}
	return v
}

// ErrNoPrimary says that the Sentinel does not know the primary's name.
var ErrNoPrimary = errors.New("the Sentinel does not know it")

// ParsePrimary reads the replies to SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL
// MASTER. Without the second its epoch is unknown.
func ParsePrimary(addr, master []byte) (primary Instance, err error) {
	switch {
	case resp.IsError(addr):
		return primary, errors.New(fate.Printed(string(resp.ErrorText(addr))))
	case resp.IsNull(addr):
		return primary, ErrNoPrimary
	}
	parts, _ := resp.Array(addr)
	if len(parts) != 2 {
		return primary, errSentinelReply
	}
	host, _ := text(parts[0])
	port, _ := text(parts[1])
	if primary.Addr, err = instanceAddr(host, port); err != nil {
		return primary, err
	}
	if told, ok := instanceOf(master); ok {
		primary.Epoch = told.Epoch
	}
	return primary, nil
}

var errSentinelReply = errors.New("the reply to SENTINEL cannot be read")

// ParseInstances reads the reply to SENTINEL REPLICAS or SENTINELS. A row that cannot
// be used is skipped.
func ParseInstances(reply []byte) (list []Instance, skips []Skip, err error) {
	rows, ok := resp.Array(reply)
	if !ok || len(rows) > maxServers {
		return nil, nil, errSentinelReply
	}
	for _, row := range rows {
		told, ok := instanceOf(row)
		if ok {
			told.Addr, err = instanceAddr(told.host, told.port)
		}
		if !ok || err != nil {
			name := Printable(net.JoinHostPort(string(told.host), string(told.port)))
			skips = append(skips, Skip{Node: name, Reason: "its row in the reply to SENTINEL cannot be used"})
			continue
		}
		list = append(list, told.Instance)
	}
	return list, skips, nil
}

// An instanceRow is an instance as a Sentinel tells of it, whose address was not looked at yet.
type instanceRow struct {
	Instance
	host, port []byte
}

// instanceOf reads names and values, in an array or a map. Host and port are part of the reply.
func instanceOf(row []byte) (told instanceRow, ok bool) {
	fields, ok := resp.Map(row)
	if !ok || len(fields) > maxFields {
		return told, false
	}
	value := func(name string) []byte { s, _ := text(fields[name]); return s }
	told.host, told.port = value("ip"), value("port")
	told.id = string(value("runid"))
	told.flags = strings.Split(string(value("flags")), ",")
	told.Epoch, _ = strconv.ParseUint(string(value("config-epoch")), 10, 64)
	return told, true
}

func instanceAddr(host, port []byte) (string, error) {
	n, err := strconv.ParseUint(string(port), 10, 16)
	host, usable := usableHost(host)
	if err != nil || n == 0 || !usable {
		return "", fmt.Errorf("%w: %q is no host, or %q no port", errSentinelReply, host, port)
	}
	return net.JoinHostPort(string(host), string(port)), nil
}
