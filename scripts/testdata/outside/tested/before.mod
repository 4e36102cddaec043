module example.com/tested

go 1.25.0
