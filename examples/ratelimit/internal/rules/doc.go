// Package rules reads rate limits from YAML files in the format of Envoy's rate
// limit service, and finds the one for a descriptor.
//
// [Parse] turns files into a [Set], which does not change; [Set.Match] finds a rule
// and the key that its hits are counted by. A [Store] has the set that is in force, and
// [Store.Watch] replaces it when the files change.
package rules
