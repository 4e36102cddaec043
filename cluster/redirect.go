package cluster

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redislanes/redislanes/lanes"
)

// A verdict is what an error reply means for the command that got it. Every
// verdict but final says that the server did not run the command. No other
// file of the project compares texts of errors.
type verdict uint8

const (
	final      verdict = iota // the reply stands
	moved                     // MOVED: the slot has another owner
	ask                       // ASK: the key may be on the node that imports the slot
	tryAgain                  // TRYAGAIN: some of the keys are still on their way
	down                      // CLUSTERDOWN, LOADING, MASTERDOWN: not now
	readOnly                  // READONLY: a write came to a replica
	noReplicas                // NOREPLICAS: too few replicas for a write
	noScript                  // NOSCRIPT: the script has to be sent along
)

// A redirect is a verdict; slot and addr (host:port) are those of MOVED and
// ASK.
type redirect struct {
	verdict verdict
	slot    uint16
	addr    string
}

// classify judges the text of an error reply, without the leading '-' and the
// line end. asked is the host:port of the server that replied; its host stands
// in where MOVED or ASK name none (Redis Cluster specification, "MOVED
// redirection"). A MOVED or ASK that is malformed is final, so that the caller
// sees what the server wrote. It allocates for MOVED and ASK only.
func classify(msg []byte, asked string) redirect {
	code, rest, _ := bytes.Cut(msg, space)
	v := final
	switch string(code) {
	case "MOVED":
		return classifyAddr(moved, rest, asked)
	case "ASK":
		return classifyAddr(ask, rest, asked)
	case "TRYAGAIN":
		v = tryAgain
	case "CLUSTERDOWN", "LOADING", "MASTERDOWN":
		v = down
	case "READONLY":
		v = readOnly
	case "NOREPLICAS":
		v = noReplicas
	case "NOSCRIPT":
		v = noScript
	}
	if v != final && fromScript(rest) {
		v = final
	}
	return redirect{verdict: v}
}

var (
	space       = []byte(" ")
	scriptName  = []byte(" script: ")
	scriptPlace = []byte(", on ")
)

// fromScript tells whether a command inside a script got the error: the parts
// of the script before it have run. Servers since Redis 7 append
// " script: <sha1>, on @user_script:<line>.".
func fromScript(text []byte) bool {
	_, after, found := bytes.Cut(text, scriptName)
	return found && bytes.Contains(after, scriptPlace)
}

// classifyAddr parses "slot host:port". The host may be an IPv6 address
// without brackets.
func classifyAddr(v verdict, text []byte, asked string) redirect {
	slotText, addr, _ := bytes.Cut(text, space)
	slot, err := atoi(slotText)
	if err != nil || slotText[0] == '-' || slot >= SlotCount {
		return redirect{}
	}
	colon := bytes.LastIndexByte(addr, ':')
	if colon < 0 {
		return redirect{}
	}
	host, portText := addr[:colon], addr[colon+1:]
	port, err := atoi(portText)
	if err != nil || port < 1 || port > 65535 {
		return redirect{}
	}
	if n := len(host); n > 2 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	if len(host) > 0 && !validHost(host) {
		return redirect{}
	}
	return redirect{verdict: v, slot: uint16(slot), addr: joinAddr(host, port, hostOf(asked))}
}

// passing tells whether a server that refused the handshake may accept it soon.
func passing(e *lanes.HandshakeError) bool {
	text, err := strconv.Unquote(e.Reply)
	if err != nil {
		return false
	}
	return text == "ERR max number of clients reached" || classify([]byte(text), "").verdict == down
}

// clusterDisabled tells whether the error reply to a CLUSTER command means that
// the server is not part of a cluster.
func clusterDisabled(msg []byte) bool {
	return string(msg) == "ERR This instance has cluster support disabled"
}

// maxMessage is the most bytes of a server's error text that are shown.
const maxMessage = 256

// sanitize removes from a server's error text what may hold keys, values or
// other arguments of the command: what is quoted (except the name of a
// command), the arguments of an unknown command, addresses and node IDs, and
// everything after the first line. Texts that a script made up itself cannot
// be told from others and stay. The result is printable and at most 256 bytes
// long.
func sanitize(msg string) string {
	for _, prefix := range argumentFollows {
		if strings.HasPrefix(msg, prefix) {
			return prefix + hidden
		}
	}
	if rest, found := strings.CutPrefix(msg, unknownCommandText); found && rest != "" {
		name, _, _ := strings.Cut(rest[1:], rest[:1])
		if !isWord(name) {
			name = hidden
		}
		return printable(unknownCommandText + rest[:1] + name + rest[:1])
	}
	if code, _, _ := strings.Cut(msg, " "); !constantTexts[code] {
		msg = hideQuoted(msg)
	}
	if i := strings.IndexAny(msg, "\r\n"); i >= 0 {
		msg = msg[:i]
	}
	return printable(msg)
}

const unknownCommandText = "ERR unknown command "

const hidden = "…"

// argumentFollows lists the texts that end in an argument without quotes.
var argumentFollows = []string{
	"ERR Unknown node ",
	"ERR I don't know about node ",
	"ERR Invalid node address specified: ",
}

// constantTexts lists the codes of errors that quote nothing but settings.
var constantTexts = map[string]bool{"DENIED": true, "MASTERDOWN": true, "MISCONF": true, "OOM": true}

// hideQuoted replaces what is between quotes. Arguments may hold quotes
// themselves, so that it takes everything between the first and the last one.
func hideQuoted(msg string) string {
	for at := 0; ; {
		start := nextQuote(msg, at)
		if start < 0 {
			return msg
		}
		end := lastQuote(msg, start)
		if end < 0 {
			return msg[:start+1] + hidden
		}
		if isCommandName(msg, start, end) {
			at = end + 1
			continue
		}
		msg = msg[:start+1] + hidden + msg[end:]
		at = start + len(hidden) + 2
	}
}

func nextQuote(msg string, from int) int {
	for i := from; i < len(msg); i++ {
		if strings.IndexByte("'\"`", msg[i]) >= 0 && !isApostrophe(msg, i) {
			return i
		}
	}
	return -1
}

// lastQuote returns the last quote of the same kind as the one at start.
func lastQuote(msg string, start int) int {
	for i := len(msg) - 1; i > start; i-- {
		if msg[i] == msg[start] && !isApostrophe(msg, i) {
			return i
		}
	}
	return -1
}

// isApostrophe tells "can't" from a quotation.
func isApostrophe(msg string, i int) bool {
	return msg[i] == '\'' && i > 0 && i+1 < len(msg) && isLetter(msg[i-1]) && isLetter(msg[i+1])
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isCommandName tells whether what is quoted at start and end is the name of a
// command, as the texts about its arity and permission have it.
func isCommandName(msg string, start, end int) bool {
	before, after := msg[:start], msg[end+1:]
	switch {
	case !isWord(msg[start+1 : end]):
		return false
	case before == "ERR wrong number of arguments for ":
		return after == " command"
	case strings.HasPrefix(before, "NOPERM ") && strings.HasSuffix(before, " permissions to run the "):
		return strings.HasPrefix(after, " command")
	}
	return false
}

// isWord tells whether s may be the name of a command, with its subcommand.
func isWord(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && strings.IndexByte("0123456789|_.-", s[i]) < 0 {
			return false
		}
	}
	return len(s) <= maxName
}

// printable replaces control characters and what is not UTF-8, and cuts a text
// that is too long between two characters.
func printable(msg string) string {
	msg = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || 0x80 <= r && r < 0xa0 {
			return '?'
		}
		return r
	}, msg)
	if len(msg) > maxMessage {
		n := maxMessage
		for !utf8.RuneStart(msg[n]) {
			n--
		}
		msg = msg[:n]
	}
	return msg
}
