package resp

import (
	"strings"
	"unicode/utf8"
)

// Redact removes from a server's error text what may hold keys, values or
// other arguments of the command: what is quoted (except the name of a
// command), the arguments of an unknown command, addresses and node IDs, the place of a syntax
// error, and everything after the first line. Texts that a script made up itself cannot
// be told from others and stay. The result is printable and at most 256 bytes
// long.
func Redact(msg string) string {
	cut := len(msg) > MaxRedacted
	if cut {
		msg = msg[:MaxRedacted]
	}
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
	for _, text := range argumentWithin {
		if strings.HasPrefix(msg, text.before) && strings.HasSuffix(msg, text.after) {
			return text.before + hidden + text.after
		}
	}
	if before, word, found := strings.Cut(msg, near); found && nextQuote(word, 0) != 0 {
		msg = before + near + hidden
	}
	if code, _, _ := strings.Cut(msg, " "); !constantTexts[code] {
		if i := nextQuote(msg, 0); cut && i >= 0 {
			// Where the quotation ends is not known: an argument stood behind a quote
			// of which the other one had been cut off.
			return printable(msg[:i+1] + hidden)
		}
		msg = hideQuoted(msg)
	}
	if i := strings.IndexAny(msg, "\r\n"); i >= 0 {
		msg = msg[:i]
	}
	return printable(msg)
}

const unknownCommandText = "ERR unknown command "

// near stands before a word of a query, in errors of the query engine that is a module and part of
// Redis 8.
const near = " near "

// argumentWithin lists the texts that have an argument without quotes inside of them: of the query
// engine, and of GEOSEARCH in Valkey.
var argumentWithin = []struct{ before, after string }{
	{"", ": no such index"},
	{"ERR member ", " does not exist"},
}

const hidden = "…"

// argumentFollows lists the texts that end in an argument without quotes.
var argumentFollows = []string{
	"ERR Unknown node ",
	"ERR I don't know about node ",
	"ERR Invalid node address specified: ",
	"ERR invalid longitude,latitude pair ",
	"ERR Unexpected engine in script shebang: ",
	"ERR Unexpected flag in script shebang: ",
	"ERR Unknown lua shebang option: ",
	"ERR Invalid metadata value given: ",
	"ERR Invalid node name: ",
	"ERR Invalid base port specified: ",
	"ERR Invalid bus port specified: ",
	"ERR Invalid TCP base port specified: ",
	"ERR Invalid TCP bus port specified: ",
	"ERR Syntax Error from arguments to loadex around ",
	"ERR Unrecognized REPLCONF option: ",
	"ERR Unsupported CONFIG parameter: ",
	"ERR Unsupported option ",
	"ERR Unknown option given: ",
	"ERR Unknown argument ",
	"ERR syntax error in FILTER expression near: ",
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
	return len(s) <= MaxCommandName
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
