package model

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

func init() {
	register("ping -1 fast 0 0 0", ping)
	register("echo 2 loading,stale,fast 0 0 0", func(c *call) { c.bulk(c.args[1]) })
	register("hello -1 noscript,loading,stale,fast,no_auth,allow_busy 0 0 0", hello)
	register("auth -2 noscript,loading,stale,fast,no_auth,allow_busy 0 0 0", auth)
	register("quit -1 noscript,loading,stale,fast,no_auth,allow_busy 0 0 0", quit)
	register("reset 1 noscript,loading,stale,fast,no_auth,allow_busy 0 0 0", reset)
	register("select 2 loading,stale,fast 0 0 0", selectDB)
	register("client|id 2 noscript,loading,stale 0 0 0", func(c *call) { c.int(int64(c.s.id)) })
	register("client|getname 2 noscript,loading,stale 0 0 0", getname)
	register("client|setname 3 noscript,loading,stale 0 0 0", setname)
	register("client|info 2 noscript,loading,stale 0 0 0", func(c *call) { c.text(c.s.info()) })
	register("client|pause -3 admin,noscript,loading,stale 0 0 0", clientPause)
	register("client|unpause 2 admin,noscript,loading,stale 0 0 0", func(c *call) { c.n.unpause(); c.ok() })
	register("time 1 loading,stale,fast 0 0 0", func(c *call) {
		c.list(strconv.FormatInt(c.now.Unix(), 10), strconv.Itoa(c.now.Nanosecond()/1000))
	})
	register("info -1 loading,stale 0 0 0", info)
	register("role 1 noscript,loading,stale,fast 0 0 0", role)
}

func ping(c *call) {
	switch {
	case len(c.args) > 2:
		c.wrongArity()
	case len(c.s.channels) > 0 && c.resp == 2:
		c.list("pong", bytes.Join(c.args[1:], nil))
	case len(c.args) == 2:
		c.bulk(c.args[1])
	default:
		c.status("PONG")
	}
}

// authenticate checks who the client says it is.
func (c *call) authenticate(username, password []byte) bool {
	n := c.n
	ok := string(username) == "default" || n.username != "" && string(username) == n.username
	if ok && n.password != "" && string(password) == n.password || ok && n.password == "" && string(username) == "default" {
		c.s.authed = true
		return true
	}
	c.err(errWrongPass)
	return false
}

func auth(c *call) {
	switch {
	case len(c.args) > 3:
		c.err(errSyntax)
		return
	case len(c.args) == 2 && c.n.password == "":
		c.err("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
		return
	}
	username, password := []byte("default"), c.args[1]
	if len(c.args) == 3 {
		username, password = c.args[1], c.args[2]
	}
	if c.authenticate(username, password) {
		c.ok()
	}
}

func hello(c *call) {
	version := c.resp
	words := c.args[1:]
	if len(words) > 0 {
		v, ok := parseInt(words[0])
		if !ok {
			c.err("ERR Protocol version is not an integer or out of range")
			return
		}
		if v != 2 && v != 3 {
			c.err("NOPROTO unsupported protocol version")
			return
		}
		version, words = int(v), words[1:]
	}
	name, ok := c.helloOptions(words)
	switch {
	case !ok:
		return
	case c.n.password != "" && !c.s.authed:
		c.err(errHelloUnknown)
		return
	case name != nil:
		c.s.name = string(name)
	}
	c.resp = version
	c.greet()
}

// helloOptions reads what follows HELLO's version, and does it; false if it has
// replied that it cannot. It returns the client's name, if there is one.
func (c *call) helloOptions(words [][]byte) (name []byte, ok bool) {
	for len(words) > 0 {
		switch word := upper(words[0]); {
		case word == "AUTH" && len(words) > 2:
			if !c.authenticate(words[1], words[2]) {
				return nil, false
			}
			words = words[3:]
		case word == "SETNAME" && len(words) > 1:
			if !c.validName(words[1]) {
				return nil, false
			}
			name, words = words[1], words[2:]
			if !c.dialect.newer { // which wait until nothing is wrong
				c.s.name = string(name)
			}
		default:
			c.errorf("ERR Syntax error in HELLO option '%s'", cString(words[0]))
			return nil, false
		}
	}
	return name, true
}

func (c *call) greet() {
	mode, role := "cluster", "master"
	if c.n.standalone {
		mode = "standalone"
	}
	if c.n.source != nil {
		role = "replica"
	}
	fields := []any{"server", c.dialect.server, "version", c.dialect.version, "proto", c.resp, "id", int(c.s.id), "mode", mode, "role", role}
	if c.n.sentinel {
		fields = append(fields[:8], "mode", "sentinel")
	}
	c.mapOf(len(fields)/2 + 1)
	c.each(fields...)
	c.bulkString("modules")
	if c.dialect.module == "" || c.n.sentinel {
		c.array(0)
		return
	}
	c.array(1)
	c.mapOf(4)
	c.each("name", c.dialect.module, "ver", 1, "path", c.dialect.path, "args")
	c.array(0)
}

func quit(c *call) {
	c.s.closing = true
	c.ok()
}

func reset(c *call) {
	s := c.s
	s.discard()
	s.channels = nil
	s.asking, s.readOnly, s.name = false, false, ""
	s.authed = c.n.password == ""
	c.resp = 2
	c.status("RESET")
}

func selectDB(c *call) {
	id, ok := c.integer(c.args[1])
	switch {
	case !ok:
	case id < math.MinInt32 || id > math.MaxInt32:
		c.errorf("ERR value is out of range, value must between %d and %d", math.MinInt32, math.MaxInt32)
	case !c.n.standalone && id != 0:
		c.err("ERR SELECT is not allowed in cluster mode")
	case id < 0 || id > 15:
		c.err("ERR DB index is out of range")
	default:
		c.ok()
	}
}

// validName reports false if it has replied that a name is none.
func (c *call) validName(name []byte) bool {
	if c.dialect.newer {
		name = []byte(cString(name))
	}
	if !printable(name) {
		c.err("ERR Client names cannot contain spaces, newlines or special characters.")
		return false
	}
	return true
}

func printable(b []byte) bool {
	return !slices.ContainsFunc(b, func(b byte) bool { return b < '!' || b > '~' })
}

func setname(c *call) {
	if c.validName(c.args[2]) {
		c.s.name = string(c.args[2])
		c.ok()
	}
}

func getname(c *call) {
	if c.s.name == "" {
		c.null()
	} else {
		c.bulkString(c.s.name)
	}
}

func (s *Session) info() string {
	return fmt.Sprintf("id=%d addr=127.0.0.1:0 laddr=%s fd=8 name=%s age=0 idle=0 flags=N db=0 sub=%d psub=0 ssub=0 multi=-1 resp=%d\n",
		s.id, s.n.addr, s.name, len(s.channels), s.out.resp)
}

func clientPause(c *call) {
	all := true
	if len(c.args) > 4 {
		c.wrongArity()
		return
	}
	if len(c.args) == 4 {
		switch upper(c.args[3]) {
		case "WRITE":
			all = false
		case "ALL":
		default:
			c.err("ERR CLIENT PAUSE mode must be WRITE or ALL")
			return
		}
	}
	ms, ok := parseInt(c.args[2])
	switch {
	case !ok:
		c.err("ERR timeout is not an integer or out of range")
		return
	case ms < 0:
		c.err("ERR timeout is negative")
		return
	}
	c.n.pauseLocked(c.now.Add(milliseconds(ms)), all)
	c.ok()
}

func info(c *call) {
	n := c.n
	role, mode, enabled := "master", "cluster", 1
	if n.source != nil {
		role = "slave"
	}
	if n.standalone {
		mode, enabled = "standalone", 0
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Server\r\nredis_version:%s\r\nredis_mode:%s\r\n\r\n# Clients\r\nconnected_clients:%d\r\n\r\n", cmp.Or(c.dialect.info, c.dialect.version), mode, len(n.sessions))
	fmt.Fprintf(&b, "# Replication\r\nrole:%s\r\n\r\n# Cluster\r\ncluster_enabled:%d\r\n", role, enabled)
	c.text(b.String())
}
