package resp

// TooManyClients is the error of a server that has no room for another client, in
// reply to whatever comes first. Source: server.c and networking.c of Redis.
const TooManyClients = "ERR max number of clients reached"
