package model

import (
	"math"
	"strconv"
)

// increxOptions are the words after INCREX's key.
type increxOptions struct {
	enx, saturate   bool
	how             string // the word of the end that the key is to have
	expire          []byte
	by, least, most int64
}

// increxOptions reads them, and returns what is wrong with them.
func (c *call) increxOptions() (o increxOptions, wrong string) {
	words := c.args[2:]
	numbers := make(map[string][]byte)
	o.by, o.least, o.most = 1, math.MinInt64, math.MaxInt64
	read := func(name, called string, n *int64) {
		if text, is := numbers[name]; is && wrong == "" {
			if v, ok := parseInt(text); ok {
				*n = v
			} else {
				wrong = "ERR " + called + " is not an integer or out of range"
			}
		}
	}
	for i := 0; i < len(words); i++ {
		more := i+1 < len(words)
		switch word := upper(words[i]); {
		case word == "SATURATE" && !o.saturate:
			o.saturate = true
		case word == "ENX" && !o.enx && o.how != "PERSIST":
			o.enx = true
		case word == "PERSIST" && !o.enx && o.how == "":
			o.how = word
		case (word == "BYINT" || word == "LBOUND" || word == "UBOUND") && numbers[word] == nil && more:
			i++
			numbers[word] = words[i]
			if read("BYINT", "Increment", &o.by); wrong != "" { // at once, unlike the bounds
				return o, wrong
			}
		case (word == "EX" || word == "PX" || word == "EXAT" || word == "PXAT") && o.how == "" && more:
			i++
			o.how, o.expire = word, words[i]
		default:
			return o, errSyntax
		}
	}
	read("LBOUND", "LBOUND", &o.least)
	read("UBOUND", "UBOUND", &o.most)
	switch {
	case wrong != "":
	case o.least > o.most:
		wrong = "ERR LBOUND can't be greater than UBOUND"
	case o.enx && o.how == "":
		wrong = "ERR ENX flag requires an expiration"
	}
	return o, wrong
}

// increx adds to an integer within bounds, and gives the key an end. BYFLOAT is a syntax error here.
func increx(c *call) {
	o, wrong := c.increxOptions()
	if wrong != "" {
		c.err(wrong)
		return
	}
	var expire int64
	var ok bool
	if o.expire != nil {
		unit := int64(1)
		if o.how[0] == 'E' {
			unit = 1000
		}
		if expire, ok = c.endAfter(o.expire, unit, len(o.how) > 2); !ok {
			return
		}
	}
	e, ok := c.typed(c.args[1], kindString)
	if !ok {
		return
	}
	value := int64(0)
	if e == nil {
		e = &entry{}
	} else if value, ok = c.integer(e.str); !ok {
		return
	}
	next := value + o.by
	if overflows(value, o.by) {
		next = map[bool]int64{true: math.MaxInt64, false: math.MinInt64}[o.by > 0]
	}
	if bounded := min(max(next, o.least), o.most); bounded != next || overflows(value, o.by) {
		if next = bounded; !o.saturate {
			c.list(int(value), 0)
			return
		}
	}
	if (next >= value) != (next-value >= 0) {
		c.err("ERR applied increment would overflow")
		return
	}
	if o.how == "" || o.enx && e.expire != 0 {
		expire = e.expire
	}
	if expire != 0 && expire <= c.ms {
		c.n.remove(string(c.args[1]))
	} else {
		c.n.put(string(c.args[1]), &entry{str: strconv.AppendInt(nil, next, 10), expire: expire})
	}
	c.list(int(next), int(next-value))
}
