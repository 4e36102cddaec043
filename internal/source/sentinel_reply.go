package source

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redislanes/redislanes/internal/fate"
	"github.com/redislanes/redislanes/internal/resp"
	"github.com/redislanes/redislanes/internal/slots"
)

// An instance is a server that a Sentinel watches, or another Sentinel.
type instance struct {
	addr  string
	id    string // of a Sentinel
	flags []string
	epoch uint64
}

// gone reports whether the Sentinel has lost the instance. One that will never come back is listed until
// somebody sends SENTINEL RESET.
func (i instance) gone() bool {
	return slices.ContainsFunc(i.flags, func(f string) bool { return f == "s_down" || f == "o_down" || f == "disconnected" })
}

var (
	errNoPrimary     = errors.New("the Sentinel does not know it")
	errSentinelReply = errors.New("the reply to SENTINEL cannot be read")
)

// parsePrimary reads the replies to SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL MASTER. Without the second
// its epoch is unknown.
func parsePrimary(addr, master []byte) (primary instance, err error) {
	switch {
	case resp.IsError(addr):
		return primary, errors.New(fate.Printed(string(resp.ErrorText(addr))))
	case resp.IsNull(addr):
		return primary, errNoPrimary
	}
	parts, _ := resp.Array(addr)
	if len(parts) != 2 {
		return primary, errSentinelReply
	}
	host, _ := slots.Text(parts[0])
	port, _ := slots.Text(parts[1])
	if primary.addr, err = instanceAddr(host, port); err != nil {
		return primary, err
	}
	if told, ok := instanceOf(master); ok {
		primary.epoch = told.epoch
	}
	return primary, nil
}

// parseInstances reads the reply to SENTINEL REPLICAS or SENTINELS. A row that cannot be used is skipped.
func parseInstances(reply []byte) (list []instance, skips []slots.Skip, err error) {
	rows, ok := resp.Array(reply)
	if !ok || len(rows) > maxInstances {
		return nil, nil, errSentinelReply
	}
	for _, row := range rows {
		told, ok := instanceOf(row)
		if ok {
			told.addr, err = instanceAddr(told.host, told.port)
		}
		if !ok || err != nil {
			name := slots.Printable(net.JoinHostPort(string(told.host), string(told.port)))
			skips = append(skips, slots.Skip{Node: name, Reason: "its row in the reply to SENTINEL cannot be used"})
			continue
		}
		list = append(list, told.instance)
	}
	return list, skips, nil
}

// An instanceRow is an instance as a Sentinel tells of it. Nobody has looked at its address yet.
type instanceRow struct {
	instance
	host, port []byte
}

// instanceOf reads names and values, in an array or a map. Host and port are part of the reply.
func instanceOf(row []byte) (told instanceRow, ok bool) {
	fields, ok := resp.Map(row)
	if !ok || len(fields) > maxFields {
		return told, false
	}
	value := func(name string) []byte { s, _ := slots.Text(fields[name]); return s }
	told.host, told.port = value("ip"), value("port")
	told.id = string(value("runid"))
	told.flags = strings.Split(string(value("flags")), ",")
	told.epoch, _ = strconv.ParseUint(string(value("config-epoch")), 10, 64)
	return told, true
}

func instanceAddr(host, port []byte) (string, error) {
	n, err := strconv.ParseUint(string(port), 10, 16)
	host, usable := slots.UsableHost(host)
	if err != nil || n == 0 || !usable {
		return "", fmt.Errorf("%w: %q is no host, or %q no port", errSentinelReply, host, port)
	}
	return net.JoinHostPort(string(host), string(port)), nil
}
