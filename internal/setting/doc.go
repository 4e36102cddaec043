// Package setting checks the settings of all packages in the same way, so that their
// errors read alike: the field, its value, and what it may be.
package setting
