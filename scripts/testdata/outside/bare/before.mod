module example.com/bare

go 1.25.0
