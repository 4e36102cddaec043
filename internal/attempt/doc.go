// Package attempt decides what happens next to a command that was sent. It is pure: it
// holds no lock, timer or goroutine, and does no I/O.
//
//   - A [Step] is the decision: the command has run, stands, or is sent again now or later.
//   - [History.Next] is the one rule for retries. The window of a command begins with its own
//     first failure. A command that meets a refusal older than the window is not sent again.
//     [Backoff] says when a retry is due.
//   - [Order] is the one rule for order. Commands of one slot take effect in their order or not
//     at all, and an EXPIRE stays behind the command on its key.
//   - An [Unknown] outcome is that of a command that may have run in a try without a reply. Only
//     a reply that is about the command ends it.
//
// Package fate says what an error reply proves; this package says what follows from it.
package attempt
