// Package wire holds the byte tools that every dialect uses: a scan over JSON that allocates nothing, splices that change a
// body without copying it, and a reader of server-sent events. It does not depend on any vendor, does no I/O, and
// keeps no state beyond its values, each of which belongs to one goroutine.
package wire
