package model

func init() {
	register("del -2 write 1 -1 1", func(c *call) { c.count((*call).delete) })
	register("unlink -2 write,fast 1 -1 1", func(c *call) { c.count((*call).delete) })
	register("exists -2 readonly,fast 1 -1 1", func(c *call) { c.count((*call).exists) })
	register("touch -2 readonly,fast 1 -1 1", func(c *call) { c.count((*call).exists) })
	register("type 2 readonly,fast 1 1 1", typeOf)
	register("dbsize 1 readonly,fast 0 0 0", dbsize)
	register("flushall -1 write 0 0 0", flushall)
	register("flushdb -1 write 0 0 0", flushall)
}

func (c *call) exists(key []byte) bool { return c.find(key) != nil }
func (c *call) delete(key []byte) bool { return c.find(key) != nil && c.n.remove(string(key)) }

// count replies for how many keys of the command the function is true.
func (c *call) count(is func(*call, []byte) bool) {
	n := int64(0)
	for _, key := range c.args[1:] {
		if is(c, key) {
			n++
		}
	}
	c.int(n)
}

func typeOf(c *call) {
	if e := c.find(c.args[1]); e != nil {
		c.status(e.kind.String())
	} else {
		c.status("none")
	}
}

func dbsize(c *call) {
	c.n.purge(c.ms)
	c.int(int64(len(c.n.keys)))
}

func flushall(c *call) {
	if len(c.args) > 2 || len(c.args) == 2 && upper(c.args[1]) != "ASYNC" && upper(c.args[1]) != "SYNC" {
		c.err(errSyntax)
		return
	}
	c.n.clear()
	c.ok()
}
