package redistest

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
)

// confirmed are the commands that have a reply for each of their channels, and the first elements of
// these replies.
var confirmed = []string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe"}

// An owed is what the server owes to a command: so many confirmations, or one reply if there are none.
type owed struct{ confirmations int }

// untilNone stands for an UNSUBSCRIBE that names no channel: it has a confirmation for each that there is.
const untilNone = -1

// owes returns what the server will owe to the command.
func owes(command []string) owed {
	switch {
	case len(command) == 0 || !slices.Contains(confirmed, strings.ToLower(command[0])):
		return owed{}
	case len(command) > 1:
		return owed{len(command) - 1}
	case strings.Contains(strings.ToLower(command[0]), "un"):
		return owed{untilNone}
	}
	return owed{} // it names no channel, which is an error
}

// A confirmation is a reply about one channel.
type confirmation struct {
	is   bool
	left int // how many channels of its kind are left
}

// replied returns what is due after one more reply. One that is no confirmation is all that its command
// gets, also if that is a SUBSCRIBE: it was refused, or queued by MULTI.
func replied(due []owed, c confirmation) []owed {
	switch {
	case len(due) == 0:
		return due
	case !c.is || due[0].confirmations == 1 || due[0].confirmations == untilNone && c.left == 0:
		return due[1:]
	case due[0].confirmations > 1:
		due[0].confirmations--
	}
	return due // also if the confirmation belongs to EXEC
}

// judge reports whether what the server has sent belongs to a command, and whether it confirms a
// subscription. Over RESP3, confirmations are the only pushes that belong to a command. A list that
// begins with "subscribe" counts as a confirmation.
func (a *answers) judge(raw []byte) (reply bool, c confirmation) {
	if raw[0] != '*' && raw[0] != '>' {
		return true, c
	}
	r := bufio.NewReader(bytes.NewReader(raw))
	_, _ = readLine(r)
	element, _ := readReply(r, nil) // nil if there is none
	_, first, _ := strings.Cut(strings.TrimSuffix(string(element), "\r\n"), "\r\n")
	switch {
	case slices.Contains(confirmed, first):
		channel, _ := readReply(r, nil)
		a.subscribed = raw[0] == '*' && !bytes.HasSuffix(raw, []byte("\r\n:0\r\n"))
		return true, confirmation{true, a.note(first, string(channel))}
	case raw[0] == '>':
		return false, c
	}
	return !a.subscribed || !strings.HasSuffix(first, "message"), c
}

// note notes that the client has, or has no more, a channel. It returns how many of its kind there are.
func (a *answers) note(confirmed, channel string) (left int) {
	kind := strings.Replace(confirmed, "un", "", 1)
	if a.channels[kind] == nil {
		a.channels[kind] = make(map[string]bool)
	}
	if a.channels[kind][channel] = true; kind != confirmed {
		delete(a.channels[kind], channel)
	}
	return len(a.channels[kind])
}
