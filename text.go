package redislanes

import (
	"fmt"
	"strings"
)

// prefix is what the text of every typed error of a call begins with. Errors about
// settings begin with the package that has them.
const prefix = "redislanes: "

// text returns what err says as part of the text of an error that wraps it, and
// that has said the prefix and the address already.
func text(err error, addr string) string {
	s := strings.TrimPrefix(fmt.Sprint(err), prefix)
	if addr != "" {
		s = strings.TrimPrefix(s, addr+": ")
	}
	return s
}
