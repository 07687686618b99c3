// SPDX-License-Identifier: MIT

package grip

import "time"

// Limits of what an application or a publisher may say. More is an error that
// says so, nothing is cut in silence.
const (
	MaxChannels      = 20        // channels of one connection
	MaxFilters       = 5         // filters of one channel
	MaxMeta          = 64        // pairs of the metadata of a connection or an item
	MaxInstructBytes = 100_000   // body of an answer that is held or is an instruct
	MaxPublishBytes  = 1_000_000 // body of a request that publishes
	MaxItems         = 1024      // items of such a request
	MaxID            = 1024      // bytes of an id
	MaxFields        = 100       // header fields of a response in JSON
)

// What is meant where nothing is said, and the least that is accepted.
const (
	DefaultTimeout   = 55 * time.Second  // of a response hold
	minTimeout       = 5 * time.Second   // of a response hold
	defaultKeepAlive = 55 * time.Second  // between keep-alives
	minKeepAlive     = time.Second       // between keep-alives
	defaultNext      = 120 * time.Second // after which a next link is asked again
)

// maxSeconds is the longest time that a number of seconds may say.
const maxSeconds = 1<<31 - 1
