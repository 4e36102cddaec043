// Package fate is the one table of the error replies that Redis 6.2 to 8.2 and Valkey
// 8.1 and 9.1 send: what each of them proves of the command that got it. All other
// packages ask it what becomes of a command, a connection or a handshake.
//
// A text that no such server sends is [Unlisted]: a proxy, a module or a script made it
// up. It proves nothing, so everything has to be safe for it.
package fate

import (
	"bytes"
)

// A Fate is what an error reply means for the command that got it. The methods say what
// follows from it, so that a new Fate is a new row there and nothing else.
type Fate uint8

// The fates. Those from Final on say that the server did not run the command.
const (
	Unlisted Fate = iota // no supported server sends the text
	Perhaps              // the command ran, or a part of it may have: an error inside a script, IOERR

	Final           // the command can never succeed as it is, such as WRONGTYPE
	Syntax          // the same: its arguments are wrong, or the server does not know one of them
	Unknown         // the same: the server does not know the command
	ClusterDisabled // the same: the server is not part of a cluster
	Overflow        // the same: INCRBY would overflow
	NoScript        // NOSCRIPT: the script has to be sent along

	Login        // NOAUTH, WRONGPASS, DENIED, NOPROTO: the connection is not logged in
	NoPermission // NOPERM: an ACL forbids the command

	Full // OOM, MISCONF: the server refuses writes, and not only for a moment

	Moved      // MOVED: the slot has another owner
	Ask        // ASK: the key may be on the node that imports the slot
	Nowhere    // MOVED or ASK without a usable address; not from Of but from the parser
	Itself     // MOVED or ASK to the server that sent it; not from Of but from the parser
	TryAgain   // TRYAGAIN: some of the keys are still on their way
	Down       // CLUSTERDOWN, LOADING, MASTERDOWN: not now
	Unserved   // CLUSTERDOWN for this slot only
	ReadOnly   // READONLY, or UNBLOCKED by a failover: the server is a replica
	NoReplicas // NOREPLICAS: too few replicas for a write
	Busy       // BUSY: a script or a function is running
	NoRoom     // max number of clients reached: no room for the connection

	fates
)

// MayHaveRun reports whether the command may have been executed, in part at least.
func (f Fate) MayHaveRun() bool { return f < Final }

// Hopeless reports whether the same command cannot succeed on this server, whenever it is
// sent again. Anything else may change: an ACL, a password, a proxy's mood.
func (f Fate) Hopeless() bool { return Final <= f && f <= Overflow }

// AboutCommand reports whether the server has looked at the command, and the error is about
// its arguments or its key: the server's state and the login have no part in it.
func (f Fate) AboutCommand() bool { return f == Final || f == Syntax }

// Refused reports whether the server did not run the command, and might run it later or
// elsewhere: redislanes.ErrRefused.
func (f Fate) Refused() bool { return f >= Full }

// Passes reports whether the cause is likely to end by itself within moments, so that
// it makes sense to wait for it.
func (f Fate) Passes() bool { return f > Full }

// PassesForDial reports whether a server that refused the handshake like this may accept
// it soon. A wrong password, and a command that the server will never accept, do not get
// better; everything else is worth another try.
func (f Fate) PassesForDial() bool { return !f.Hopeless() && f != Login && f != NoPermission }

// Unsupported reports whether the server does not have the command, so that a handshake
// can do without its answer.
func (f Fate) Unsupported() bool { return f == Syntax || f == Unknown || f == ClusterDisabled }

// MaxText is how much of an error reply is judged, in bytes.
const MaxText = 4 << 10

var (
	space      = []byte(" ")
	errCode    = []byte("ERR ")
	abortedFor = []byte("Transaction discarded because of: ")
)

// Of judges the text of an error reply, without the leading '-' and the line end. It does
// not allocate. MOVED and ASK are judged by their code alone.
func Of(text []byte) Fate {
	text = text[:min(len(text), MaxText)]
	code, rest, _ := bytes.Cut(text, space)
	switch {
	case fromScript(rest):
		return Perhaps
	case string(code) == "EXECABORT" && bytes.HasPrefix(rest, abortedFor):
		if f := Of(rest[len(abortedFor):]); f.Refused() && f != Moved && f != Ask {
			return f
		}
		return Final
	}
	if p := listed(text); p != nil {
		return p.fate
	}
	return codes[string(code)]
}

// codes are the first words of texts that decide alone.
var codes = map[string]Fate{
	"IOERR": Perhaps,

	"BUSYGROUP": Final, "BUSYKEY": Final, "CROSSSLOT": Final, "EXECABORT": Final, "INPROG": Final, "INVALIDOBJ": Final,
	"NOGOODPRIMARY": Final, "NOGOODSLAVE": Final, "NOGROUP": Final, "NOMASTERLINK": Final, "NOQUORUM": Final, "NOTBUSY": Final,
	"REDIRECT": Final, "UNBLOCKED": Final, "UNKILLABLE": Final, "WRONGTYPE": Final,
	"NOSCRIPT": NoScript,

	"DENIED": Login, "NOAUTH": Login, "NOPROTO": Login, "WRONGPASS": Login,
	"NOPERM": NoPermission,

	"MISCONF": Full, "OOM": Full,

	"MOVED": Moved, "ASK": Ask, "TRYAGAIN": TryAgain,
	"CLUSTERDOWN": Down, "LOADING": Down, "MASTERDOWN": Down,
	"READONLY": ReadOnly, "NOREPLICAS": NoReplicas, "BUSY": Busy,
}

var (
	scriptName  = []byte(" script: ")
	scriptPlace = []byte("on ")
	scriptThen  = []byte(", on ")
)

// fromScript tells whether a command inside a script got the error: the parts
// of the script before it have run. Servers since Redis 7 append
// " script: <sha1>, on @user_script:<line>.", and Valkey 9 " script: on @user_script:<line>.".
func fromScript(text []byte) bool {
	_, after, found := bytes.Cut(text, scriptName)
	return found && (bytes.HasPrefix(after, scriptPlace) || bytes.Contains(after, scriptThen))
}

var (
	readOnlyCode = []byte("READONLY ")
	scriptError  = []byte("ERR Error running script ")
	wrapped      = []byte(" -READONLY ")
)

// SaysReplica reports whether the text says that the server is a replica, also that of a
// command inside a script, which [Perhaps] ran. Servers before Redis 7 wrap it: "ERR Error
// running script (call to f_<sha1>): @user_script:1: @user_script: 1: -READONLY You can't write".
func SaysReplica(text []byte) bool {
	text = text[:min(len(text), MaxText)]
	return bytes.HasPrefix(text, readOnlyCode) || bytes.HasPrefix(text, scriptError) && bytes.Contains(text, wrapped)
}
