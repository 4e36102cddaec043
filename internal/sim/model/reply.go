package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Replies that say nothing but that something was refused.
const (
	errWrongType    = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errNotInteger   = "ERR value is not an integer or out of range"
	errSyntax       = "ERR syntax error"
	errOverflow     = "ERR increment or decrement would overflow"
	errNoAuth       = "NOAUTH Authentication required."
	errWrongPass    = "WRONGPASS invalid username-password pair or user is disabled."
	errOOM          = "OOM command not allowed when used memory > 'maxmemory'."
	errReadOnly     = "READONLY You can't write against a read only replica."
	errMasterDown   = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."
	errLoading      = "LOADING Redis is loading the dataset in memory"
	errMisconf      = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error."
	errNoReplicas   = "NOREPLICAS Not enough good replicas to write."
	errExecAbort    = "EXECABORT Transaction discarded because of previous errors."
	errCrossSlot    = "CROSSSLOT Keys in request don't hash to the same slot"
	errTryAgain     = "TRYAGAIN Multiple keys request during rehashing of slot"
	errDown         = "CLUSTERDOWN The cluster is down"
	errUnbound      = "CLUSTERDOWN Hash slot not served"
	errNotPositive  = "ERR value is out of range, must be positive"
	errHelloUnknown = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	errScriptArgs   = "ERR Lua redis lib command arguments must be strings or integers"
)

// A reply is what a command writes, in the session's version of RESP.
type reply struct {
	b       []byte
	resp    int // 2 or 3
	dialect *dialect
}

func (r *reply) status(s string) { r.b = append(append(append(r.b, '+'), s...), '\r', '\n') }
func (r *reply) ok()             { r.b = append(r.b, "+OK\r\n"...) }
func (r *reply) head(mark byte, n int64) {
	r.b = append(r.b, mark)
	r.b = strconv.AppendInt(r.b, n, 10)
	r.b = append(r.b, '\r', '\n')
}
func (r *reply) int(n int64) { r.head(':', n) }
func (r *reply) array(n int) { r.head('*', int64(n)) }
func (r *reply) bulk(s []byte) {
	r.head('$', int64(len(s)))
	r.b = append(append(r.b, s...), '\r', '\n')
}
func (r *reply) bulkString(s string) {
	r.head('$', int64(len(s)))
	r.b = append(append(r.b, s...), '\r', '\n')
}

// bool writes 1 or 0.
func (r *reply) bool(b bool) {
	if b {
		r.int(1)
	} else {
		r.int(0)
	}
}

// null writes that there is no value, and nullArray that there is no array.
func (r *reply) null()      { r.either("_\r\n", "$-1\r\n") }
func (r *reply) nullArray() { r.either("_\r\n", "*-1\r\n") }

func (r *reply) either(resp3, resp2 string) {
	if r.resp == 3 {
		r.b = append(r.b, resp3...)
	} else {
		r.b = append(r.b, resp2...)
	}
}

// mapOf begins a map of n pairs.
func (r *reply) mapOf(n int) {
	if r.resp == 3 {
		r.head('%', int64(n))
	} else {
		r.array(2 * n)
	}
}

// set begins a set of n elements, and push a message of n elements that nobody has asked for.
func (r *reply) set(n int)  { r.arrayOr('~', n) }
func (r *reply) push(n int) { r.arrayOr('>', n) }

// arrayOr begins an array, in RESP3 what it has instead.
func (r *reply) arrayOr(mark byte, n int) {
	if r.resp < 3 {
		mark = '*'
	}
	r.head(mark, int64(n))
}

// each writes values: texts as bulk strings, integers, and nil for none.
func (r *reply) each(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			r.bulkString(v)
		case []byte:
			r.bulk(v)
		case int:
			r.int(int64(v))
		default:
			r.null()
		}
	}
}

// list writes an array of values, and message one that nobody has asked for.
func (r *reply) list(values ...any)    { r.array(len(values)); r.each(values...) }
func (r *reply) message(values ...any) { r.push(len(values)); r.each(values...) }

// text writes a report for people.
func (r *reply) text(s string) {
	if r.resp != 3 {
		r.bulkString(s)
		return
	}
	r.head('=', int64(len(s)+4))
	r.b = append(append(append(r.b, "txt:"...), s...), '\r', '\n')
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// err writes an error reply. The text may hold what clients sent, so that line
// ends are taken out of it.
func (r *reply) err(text string) {
	r.b = append(r.b, '-')
	r.b = append(r.b, oneLine.Replace(r.dialect.said(text))...)
	r.b = append(r.b, '\r', '\n')
}

func (r *reply) errorf(format string, args ...any) { r.err(fmt.Sprintf(format, args...)) }

// parseInt reads an integer as Redis does: without a sign +, leading zeros or
// spaces.
func parseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	if b[0] == '0' && len(b) > 1 || b[0] == '+' || b[0] == '-' && (len(b) < 2 || b[1] == '0') {
		return 0, false
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	return n, err == nil
}
