// Package messages is the Messages API as wire vocabulary: the one scan over a request body and the splices that change
// it, quota headers, the error envelope, server-sent events, the token counts of an answer, and the usage endpoint's reply.
//
// It works on bytes in place and is made for the hot path: it builds no document, does no I/O and starts no goroutine.
// JSON is read by its quotes and brackets; whatever is skipped is not validated. Only the usage endpoint's reply, which
// comes seldom, is decoded as a whole. Functions are safe for concurrent use; a value with a Write method belongs to one
// goroutine.
package messages
