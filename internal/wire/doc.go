// Package wire holds the byte tools that every dialect uses: a scan over JSON that allocates nothing, splices that change a
// body without copying it, and a reader of server-sent events. It knows no vendor's vocabulary, reads no network and keeps
// no state beyond its values, each of which belongs to one goroutine.
package wire
