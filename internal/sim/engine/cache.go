package engine

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// cacheLifetime is the time for which a conversation's prompt stays cached after its last use.
	cacheLifetime = 5 * time.Minute
	// maxConversations bounds a prompt cache.
	maxConversations = 4096

	// CacheDiscount is the share of a token that a cached token counts.
	CacheDiscount = 0.1
)

// PromptCache remembers how much of a conversation's prompt a provider has seen. Real providers cache by content; this one
// trusts the conversation's key. A provider's lock guards it.
type PromptCache struct{ lru *lru.LRU[string, cached] }

type cached struct {
	tokens int64
	until  time.Time
}

// NewPromptCache returns an empty cache.
func NewPromptCache() PromptCache {
	c, err := lru.NewLRU[string, cached](maxConversations, nil)
	if err != nil {
		panic(err)
	}
	return PromptCache{c}
}

// Use returns how many of the prompt's tokens are cached, and caches all of them.
func (c PromptCache) Use(key string, tokens int64, now time.Time) (read int64) {
	if earlier, ok := c.lru.Get(key); ok && now.Before(earlier.until) {
		read = min(earlier.tokens, tokens)
	}
	c.lru.Add(key, cached{tokens, now.Add(cacheLifetime)})
	return read
}
