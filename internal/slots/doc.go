// Package slots knows which node owns which slot. It is pure: it holds no lock, timer or
// goroutine, and does no I/O.
//
//   - [Of] returns the slot of a key.
//   - [ParseSlots], [ParseNodes] and [ParseRedirect] read what servers reply. A row that cannot be used is a
//     [Skip] and costs itself only.
//   - A [Map] is what servers say. [Poll.Choose] is the one place that decides which map to use, by
//     the map in use and all answers.
//   - A [Table] is the map in use as requests read it, with what MOVED has taught since. It also
//     chooses the replica that is read from. [Diff] tells two tables apart.
//   - A [Grouper] groups commands by the nodes that own their slots.
package slots
