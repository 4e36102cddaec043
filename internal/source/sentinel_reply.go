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
	told, _ := instanceOf(master)
	primary.epoch = told.epoch
	return primary, nil
}

// parseInstances reads the reply to SENTINEL REPLICAS or SENTINELS. A row that cannot be used is left out.
func parseInstances(reply []byte) (list []instance) {
	rows, ok := resp.Array(reply)
	if !ok || len(rows) > maxInstances {
		return nil
	}
	for _, row := range rows {
		if i, err := instanceOf(row); err == nil {
			list = append(list, i)
		}
	}
	return list
}

// instanceOf reads names and values, in an array or a map. If only the address is none, the rest is there.
func instanceOf(row []byte) (i instance, err error) {
	fields, ok := resp.Map(row)
	if !ok || len(fields) > maxFields {
		return i, errSentinelReply
	}
	value := func(name string) []byte { s, _ := slots.Text(fields[name]); return s }
	i.id = string(value("runid"))
	i.flags = strings.Split(string(value("flags")), ",")
	i.epoch, _ = strconv.ParseUint(string(value("config-epoch")), 10, 64)
	i.addr, err = instanceAddr(value("ip"), value("port"))
	return i, err
}

func instanceAddr(host, port []byte) (string, error) {
	n, err := strconv.ParseUint(string(port), 10, 16)
	host, usable := slots.UsableHost(host)
	if err != nil || n == 0 || !usable {
		return "", fmt.Errorf("%w: %q is no host, or %q no port", errSentinelReply, host, port)
	}
	return net.JoinHostPort(string(host), string(port)), nil
}
