package model

import "fmt"

// Modules is how many modules servers have loaded that are in use. Each has one command of its own,
// MODULE0.INCRBY and so on, whose key is behind what is added.
const Modules = 8

// RareModules is how many there are behind these, MODULE8.INCRBY and so on, for those who
// need a command that nobody has used before.
const RareModules = 120

func init() {
	for i := range Modules + RareModules {
		register(fmt.Sprintf("module%d.incrby 3 write,denyoom,fast 2 2 1", i), moduleIncrBy).module = true
	}
}

// moduleIncrBy is INCRBY, and is told as if its arguments had INCRBY's order.
func moduleIncrBy(c *call) {
	c.args = [][]byte{c.args[0], c.args[2], c.args[1]}
	if by, ok := c.integer(c.args[2]); ok {
		c.add(by)
	}
}
