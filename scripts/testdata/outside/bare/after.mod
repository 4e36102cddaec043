module example.com/bare

go 1.25.0

require github.com/redislanes/redislanes v0.0.0

require (
	github.com/mediocregopher/radix/v4 v4.1.4 // indirect
	github.com/tilinna/clock v1.0.2 // indirect
)
