// Package settings reads the files that command compare runs: YAML, with every
// mistake reported by file, line, column and key, and a matrix of settings
// expanded into runs and endpoints. It starts nothing and opens no connection.
//
// README.md of the command lists every key of the file.
package settings
