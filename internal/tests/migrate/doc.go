// Package migrate holds the tests of the table in docs/migrate-radix.md: each row has a
// program that runs over radix's constructor and over ours, on one real cluster, and
// what both see is compared.
package migrate
