// Package bridge leads from the actions of radix to commands and back: it encodes what an action
// sends, decodes replies by radix's rules, and returns errors that radix understands. The packages
// below it know encoded commands and replies, and nothing of radix.
package bridge
