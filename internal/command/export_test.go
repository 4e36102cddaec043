package command

// For the tests with servers, which cannot be in this package: redistest
// imports it.
var (
	KeysOfLines = commandKeys
	Encode      = encode
	KeysOf      = keysOf
)

// IsSubcommand reports whether the command's rule is that of the subcommand.
func IsSubcommand(c Command, name string) bool { return c.rule != c.container && c.rule.name == name }
