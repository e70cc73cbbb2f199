// Package messages is the dialect of the Messages API: the scan of a request body and the edits that change it, errors, event
// streams, the token counts of a response, and the headers in which a provider reports quota.
//
// It works on bytes in place, for the hot path: it builds no document, does no I/O and starts no goroutine. It reads JSON by
// its quotes and brackets, and does not validate what it skips. Functions are safe for concurrent use; a value
// with a Write method belongs to one goroutine.
package messages
